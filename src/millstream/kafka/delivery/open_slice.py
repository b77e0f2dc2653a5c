"""A slice that is open: a producer that owns it, and its marker."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import Consumer, KafkaException, Producer

from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import FEWEST, marker_after, prepare_markers, read_marker
from millstream.kafka.delivery.records import PRODUCER_SETTINGS, Records, produce_records

TIMEOUT = 30.0
"""Seconds that one request of a transaction may take."""

_SETTINGS = {
    **PRODUCER_SETTINGS,
    # How long a slice may take: slow brokers, and those with a quota, take their time. It is not
    # unlimited, since what a dead writer left open blocks the topic's readers until its successor
    # opens the slice, or until then. Brokers allow a quarter of an hour.
    "transaction.timeout.ms": 300_000,
}


def connect(slice: KafkaSlice) -> Producer:
    """A producer that can open the slice, and does not own it yet."""
    producer = slice.connection.producer({**_SETTINGS, "transactional.id": slice.transactional_id})
    # Until it is connected, it looks for its coordinator only every half second. The first answer
    # comes from the given address, the second from the broker that the client now knows there.
    for _ in range(2):
        producer.list_topics(slice.topic, timeout=TIMEOUT)
    return producer


def open_slice(slice: KafkaSlice, producer: Producer, markers: Consumer) -> OpenSlice:
    """Fences off who had the slice before; only then its marker is final, and is read.

    ``markers`` is a consumer of the slice's group.
    """
    if slice.number >= FEWEST:  # the number of tasks of a sink is not known before they run
        prepare_markers(slice.connection, slice.number + 1)
    producer.init_transactions(TIMEOUT)
    return OpenSlice(slice, producer, read_marker(markers, slice.number))


@dataclass
class OpenSlice:
    """A slice with the producer that owns it.

    Invariant: ``marker`` is the slice's marker in Kafka for as long as no other producer opens the
    slice; once another one has, this producer is fenced off and its transactions fail. One thread
    at a time may call.
    """

    slice: KafkaSlice
    producer: Producer
    marker: int

    def write(self, batch: int, records: Sequence[Records], markers: Consumer) -> None:
        """Writes the records of a batch and the marker after it, in one transaction."""
        self.producer.begin_transaction()
        for each in records:
            produce_records(self.producer, self.slice.topic, each, TIMEOUT)
        self.producer.send_offsets_to_transaction(
            [marker_after(batch, self.slice.number)], markers.consumer_group_metadata(), TIMEOUT
        )
        commit(self.producer)
        self.marker = batch + 1

    def discard(self) -> None:
        """Drops what is not sent; who opens the slice next aborts the transaction."""
        with suppress(KafkaException):
            self.producer.purge()


def commit(producer: Producer) -> None:
    """Commits once all records have arrived, and tries again for as long as some more arrive.

    A transaction that starts over after some seconds never completes if it takes longer than that.
    """
    while True:
        left = len(producer)
        try:
            producer.commit_transaction(TIMEOUT)
            return
        except KafkaException as error:
            if not error.args[0].retriable() or len(producer) >= left:
                raise
