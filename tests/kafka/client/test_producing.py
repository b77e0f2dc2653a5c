"""Producing records to brokers, and where no broker answers."""

from __future__ import annotations

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.deliveries import Deliveries
from millstream.kafka.client.producing import produce
from millstream.kafka.client.records import NewRecord
from topics import new_topic, read


def test_after_two_requests_to_stop_a_full_queue_is_not_waited_for():
    settings = {"queue.buffering.max.messages": 2, "message.timeout.ms": 5000}
    producer = Connection("127.0.0.1:1").producer(settings)
    deliveries = Deliveries()
    records = [NewRecord(b"x")] * 4
    produce(producer, "scores", records, lambda _: -1, deliveries, stop_requests=lambda: 2)
    assert deliveries.failures == {"Local: Purged in queue": [(1, 4)]}


def test_records_arrive_in_the_partitions_that_were_chosen(broker):
    topic, deliveries = new_topic(broker.servers, 3), Deliveries()
    producer = Connection(broker.servers).producer({})
    records = [NewRecord(str(number).encode(), headers=(("n", None),)) for number in range(3)]
    produce(producer, topic, records, lambda record: 2 - int(record.value), deliveries)
    deliveries.check()
    found = {record.value: record.partition for record in read(broker.servers, topic)}
    assert found == {"0": 2, "1": 1, "2": 0}


def test_a_rate_is_a_limit_until_the_user_asks_to_stop(broker):
    topic, deliveries, requests = new_topic(broker.servers), Deliveries(), iter([0, 0])
    records = [NewRecord(b"x")] * 20  # at this rate, these would take 20,000 seconds
    producer = Connection(broker.servers).producer({})
    produce(
        producer, topic, records, lambda _: 0, deliveries,
        rate=0.001, stop_requests=lambda: next(requests, 1),
    )  # fmt: skip
    assert deliveries.arrived == 20
