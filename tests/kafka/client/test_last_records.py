"""The last records of a partition are found although not every offset has one."""

from __future__ import annotations

import pytest
from confluent_kafka import TopicPartition

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.last_records import last_records
from millstream.kafka.client.positions import BEGINNING, END, offsets_at
from topics import new_topic, put


@pytest.fixture
def consumer(broker):
    opened = Connection(broker.servers).consumer(
        {
            "group.id": "tests",
            "enable.auto.commit": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed",
        }
    )
    yield opened
    opened.close()


def starts(connection, consumer, count, places):
    first = offsets_at(connection.admin, places, BEGINNING)
    end = offsets_at(connection.admin, places, END)
    found = last_records(consumer, count, first, end, lambda: False)
    return [found[place] for place in places]


def test_each_partition_is_read_back_from_its_own_end(broker, consumer):
    connection, topic = Connection(broker.servers), new_topic(broker.servers, 3)
    put(broker.servers, topic, ["a"] * 5, partition=0)
    put(broker.servers, topic, ["b"], partition=1)
    places = [TopicPartition(topic, number) for number in range(3)]
    assert starts(connection, consumer, 2, places) == [3, 0, 0]
    assert starts(connection, consumer, 0, places) == [5, 1, 0]


def test_offsets_without_a_record_do_not_count(broker, consumer):
    connection, topic = Connection(broker.servers), new_topic(broker.servers)
    producer = connection.producer({"transactional.id": f"writes-{topic}"})
    producer.init_transactions(30)
    for value in "abc":  # at offsets 0, 2 and 4: the end of a transaction takes one
        producer.begin_transaction()
        producer.produce(topic, value)
        producer.commit_transaction(30)
    for _ in range(4):  # aborted records take offsets 6, 8, 10 and 12
        producer.begin_transaction()
        producer.produce(topic, "aborted")
        producer.flush(30)
        producer.abort_transaction(30)
    place = TopicPartition(topic, 0)
    assert starts(connection, consumer, 1, [place]) == [4]
    assert starts(connection, consumer, 2, [place]) == [2]
    assert starts(connection, consumer, 9, [place]) == [0]
