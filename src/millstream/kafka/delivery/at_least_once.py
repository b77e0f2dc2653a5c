"""Delivery at least once: plain producers, without transactions."""

from __future__ import annotations

from collections.abc import Sequence
from functools import cache

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, Producer

from millstream.kafka.client.connection import Connection
from millstream.kafka.delivery.failures import PATIENCE, not_written
from millstream.kafka.delivery.records import PRODUCER_SETTINGS, Records, produce_records


class PlainProducers:
    """The producers of a process for delivery at least once, one for each cluster and settings.

    Invariant: between two calls of ``write`` no producer holds records that have not arrived. One
    with records that failed is dropped. One thread may call: the one that runs the tasks.
    """

    def __init__(self) -> None:
        self._producers: dict[tuple[str, ...], Producer] = {}

    def write(self, connection: Connection, topic: str, records: Sequence[Records]) -> None:
        """Writes records, and returns once all of them have arrived."""
        key = (connection.servers, *map("=".join, sorted(connection.settings.items())))
        if key not in self._producers:
            self._producers[key] = connection.producer(PRODUCER_SETTINGS)
        producer = self._producers[key]
        failures: list[Failure] = []

        def on_delivery(failure: Failure | None, _: object) -> None:
            if failure is not None:
                failures.append(failure)

        try:
            for each in records:
                produce_records(producer, topic, each, PATIENCE, on_delivery)
            if producer.flush(PATIENCE):
                failures.append(Failure(Failure._TIMED_OUT))
        except KafkaException as error:
            failures.append(error.args[0])
        if failures:
            del self._producers[key]
            raise not_written(connection, topic, failures[0])


@cache
def plain_producers() -> PlainProducers:
    """Those of this process."""
    return PlainProducers()
