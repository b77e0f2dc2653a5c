"""One Spark session for all tests of this folder, stopped when they are done."""

from __future__ import annotations

import pytest

from millstream.testing.on_spark import replay_session


@pytest.fixture(scope="session", autouse=True)
def spark():
    session = replay_session()
    yield session
    session.stop()
    replay_session.cache_clear()
