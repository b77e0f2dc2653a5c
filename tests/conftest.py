"""Settings for every test, and what several of them share."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from millstream.kafka import local
from millstream.kafka.cluster import Cluster

# Derandomised: a test that passed here passes everywhere, on the same examples.
settings.register_profile(
    "millstream",
    max_examples=250,
    deadline=None,
    derandomize=True,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.load_profile("millstream")


@pytest.fixture(scope="session")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """A real Kafka of one broker, for all tests; its ``servers`` is the address for clients."""
    data = tmp_path_factory.mktemp("broker")
    yield local.up(port=0, data=data)
    local.down(data)
