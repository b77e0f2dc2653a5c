"""Kafka's own tool reports the sizes of partitions."""

from __future__ import annotations

import pytest

from millstream.kafka.admin.sizes import sizes
from millstream.kafka.client.connection import Connection
from millstream.model.errors import KafkaError
from topics import new_topic, put


def test_a_partition_is_at_least_as_large_as_its_records(broker):
    topic = new_topic(broker.servers, 2)
    put(broker.servers, topic, ["x" * 10_000], partition=1)
    found = sizes(Connection(broker.servers), [topic])
    assert found.keys() == {(1, f"{topic}-0"), (1, f"{topic}-1")}
    assert found[1, f"{topic}-0"] == 0
    assert found[1, f"{topic}-1"] > 10_000


def test_brokers_that_do_not_answer_are_an_error_before_java_starts():
    with pytest.raises(KafkaError, match="MS320"):
        sizes(Connection("127.0.0.1:1"), ["scores"])
