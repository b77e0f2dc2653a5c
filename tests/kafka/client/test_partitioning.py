"""Partitions for new records: by the key, in turn, or in runs."""

from __future__ import annotations

from itertools import pairwise

import pytest

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.partitioning import CLIENT_SETTINGS, java_hash, partitioner
from millstream.kafka.client.records import NewRecord
from topics import new_topic, read


# From Kafka's own UtilsTest.testMurmur2, without the sign as its partitioner takes it.
@pytest.mark.parametrize(
    ("key", "hash"),
    [("21", -973932308), ("foobar", -790332482), ("a-little-bit-long-string", -985981536)],
)
def test_the_hash_of_a_key_is_that_of_java(key, hash):
    assert java_hash(key) == java_hash(key.encode()) == hash & 0x7FFFFFFF


def test_the_client_chooses_the_partition_of_the_hash(broker):
    topic = new_topic(broker.servers, 5)
    keys = [f"key-{number}" for number in range(30)]
    producer = Connection(broker.servers).producer(CLIENT_SETTINGS)
    for key in keys:
        producer.produce(topic, "x", key)
    assert producer.flush(30) == 0
    found = {record.key: record.partition for record in read(broker.servers, topic)}
    assert found == {key: java_hash(key) % 5 for key in keys}


def test_a_partition_that_a_record_names_is_kept():
    for name in ("java", "round-robin", "sticky"):
        assert partitioner(name, 3)(NewRecord(b"x", partition=2)) == 2


def test_sticky_keeps_a_partition_for_a_batch_and_then_takes_another():
    choose = partitioner("sticky", 3)
    half = NewRecord(bytes(8_192))
    chosen = [choose(half) for _ in range(10)]
    pairs = list(zip(chosen[::2], chosen[1::2], strict=True))
    assert all(first == second for first, second in pairs)
    assert all(one != other for (one, _), (other, _) in pairwise(pairs))


def test_sticky_has_no_choice_with_one_partition():
    choose = partitioner("sticky", 1)
    assert {choose(NewRecord(bytes(20_000))) for _ in range(3)} == {0}
