"""Many records at once: with keys, headers and partitions, or without."""

from __future__ import annotations

import pytest
from confluent_kafka import KafkaException

from millstream.kafka.admin.topics import add_partitions
from millstream.kafka.delivery.records import PRODUCER_SETTINGS, Records, produce_records
from topics import read, values


@pytest.fixture
def produce(slice):
    """Produces records to the topic of the slice, and waits until they have arrived."""
    producer = slice.connection.producer(PRODUCER_SETTINGS)

    def produced(*records: Records) -> None:
        for each in records:
            produce_records(producer, slice.topic, each, 30)
        assert producer.flush(30) == 0

    return produced


def test_records_have_any_of_keys_headers_and_partitions(slice, produce):
    produce(
        Records(["a", "b"], hashes=[1, 0]),
        Records(["c", "d"], keys=["k", "l"], hashes=[5, 7]),
        Records(["e", "f"], headers=[[("n", "1")], [("kind", "-"), ("n", None)]]),
    )
    found = {r.value: r for r in read(slice.connection.servers, slice.topic)}
    assert sorted(found) == list("abcdef")
    assert [found[each].partition for each in "abcd"] == [1, 0, 1, 1]
    assert [found[each].key for each in "acd"] == [None, "k", "l"]
    assert [found[each].headers for each in "aef"] == [{}, {"n": "1"}, {"kind": "-", "n": None}]


def test_a_record_may_have_no_value(slice, produce):
    produce(Records([None], keys=["k"]), Records([None], headers=[[("n", "1")]]))
    assert [r.value for r in read(slice.connection.servers, slice.topic)] == [None, None]


def test_a_hash_chooses_among_the_partitions_that_are_there_when_it_is_written(slice, produce):
    produce(Records(["a"], hashes=[2]))
    add_partitions(slice.connection, slice.topic, 3)
    produce(Records(["b"], hashes=[2]))
    found = {r.value: r.partition for r in read(slice.connection.servers, slice.topic)}
    assert found == {"a": 0, "b": 2}


def test_more_records_than_a_producer_takes_at_once_all_arrive(slice, produce):
    many = [str(number) for number in range(150_000)]
    produce(Records(many, keys=many))
    assert values(slice) == sorted(many)


def test_records_wait_while_the_queue_of_the_producer_is_full(slice):
    small = slice.connection.producer({"queue.buffering.max.messages": 10})
    many = [str(number) for number in range(100)]
    produce_records(small, slice.topic, Records(many), 30)
    produce_records(small, slice.topic, Records(many, headers=[[("n", "1")]] * 100), 30)
    assert small.flush(30) == 0
    assert values(slice) == sorted(many * 2)


def test_a_record_that_the_client_refuses_is_an_error(slice):
    small = slice.connection.producer({"message.max.bytes": 1000})
    with pytest.raises(KafkaException, match="too large"):
        produce_records(small, slice.topic, Records(["x" * 5000]), 30)
