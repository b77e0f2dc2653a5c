"""What tests of delivery share: a slice of a topic that no other test has."""

from __future__ import annotations

import pytest

from millstream.kafka.client.connection import Connection
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import prepare_markers
from topics import new_topic


@pytest.fixture
def slice(broker, request) -> KafkaSlice:
    connection = Connection(broker.servers)
    prepare_markers(connection, 8)
    return KafkaSlice(connection, new_topic(broker.servers, 2), f"group-{request.node.name}", 3)


@pytest.fixture
def markers(slice):
    """A consumer of the slice's group."""
    consumer = slice.connection.consumer({"group.id": slice.group, "enable.auto.commit": False})
    yield consumer
    consumer.close()
