"""What all tests of this folder need."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.spark.sources.kafka import Topics, opened_topics


@pytest.fixture(scope="session", autouse=True)
def _stopped_at_the_end(spark_stops):
    """Many of them start Spark by themselves."""


@pytest.fixture
def opened(broker):
    """Opens sources that read these topics, or topics like a pattern."""

    def opened(*given: str | None, **options: object) -> list[Topics]:
        options["servers"] = broker.servers
        read = [ms.read_kafka(each, name=f"{each}", **options) for each in given]
        return list(opened_topics(stream.node for stream in read).values())

    return opened
