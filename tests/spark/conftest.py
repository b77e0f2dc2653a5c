"""One Spark session for all tests of this folder, stopped when they are done."""

from __future__ import annotations

import pytest

from millstream.kafka.jars import jars
from millstream.testing.on_spark import replay_session


@pytest.fixture(scope="session")
def spark():
    return replay_session()


@pytest.fixture(scope="session", autouse=True)
def _stopped_at_the_end():
    jars("connector")  # a session takes what is there when it is made
    yield
    if replay_session.cache_info().currsize:  # tests that need no Spark do not start one
        replay_session().stop()
        replay_session.cache_clear()
