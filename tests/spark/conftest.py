"""What all tests of this folder need."""

from __future__ import annotations

import pytest

import millstream as ms
import topics
from millstream.kafka.admin.topics import delete_records
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.positions import Position
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


@pytest.fixture
def trimmed(broker):
    """A topic of 20 records of which the first 10 are gone."""
    name = topics.new_topic(broker.servers)
    topics.put(broker.servers, name, map(str, range(20)))
    delete_records(Connection(broker.servers), name, Position("offset", 10))
    return name
