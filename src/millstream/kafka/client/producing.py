"""Produces records to a topic, and reports which of them did not arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from functools import partial

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, Producer

from millstream.kafka.client.deliveries import Deliveries
from millstream.kafka.client.records import NewRecord

_TICK = 0.2  # seconds


def produce(
    producer: Producer,
    topic: str,
    records: Iterable[NewRecord],
    choose: Callable[[NewRecord], int],
    deliveries: Deliveries,
    *,
    rate: float | None = None,
    stop_requests: Callable[[], int] = lambda: 0,
) -> None:
    """Produces the records. However it ends, all records that were read by then are sent.

    ``stop_requests`` returns how often the user has asked to stop: after one request the rate is
    no longer limited, after two the records that have not arrived are dropped, and count as failed.
    """
    try:
        for line, record in enumerate(_paced(records, rate, producer, stop_requests), 1):
            try:
                on_delivery = partial(deliveries.add, line)
                _send(producer, topic, record, choose(record), on_delivery, stop_requests)
            except KafkaException as error:
                deliveries.add(line, error.args[0])
    finally:
        while producer.flush(_TICK):
            if stop_requests() >= 2:
                producer.purge()


def _send(
    producer: Producer,
    topic: str,
    record: NewRecord,
    partition: int,
    on_delivery: Callable[..., None],
    stop_requests: Callable[[], int],
) -> None:
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=partition,
                on_delivery=on_delivery,
                timestamp=record.timestamp or 0,  # for the client, 0 is the time of writing
                headers=list(record.headers),
            )
        except BufferError:
            if stop_requests() >= 2:
                raise KafkaException(Failure(Failure._PURGE_QUEUE)) from None
            producer.poll(0.1)  # the queue is full: wait until some have arrived
        else:
            producer.poll(0)
            return


def _paced(
    records: Iterable[NewRecord],
    rate: float | None,
    producer: Producer,
    stop_requests: Callable[[], int],
) -> Iterator[NewRecord]:
    begun = time.monotonic()
    for count, record in enumerate(records):
        due = begun if rate is None else begun + count / rate
        while (early := due - time.monotonic()) > 0 and not stop_requests():
            producer.poll(min(early, _TICK))
        yield record
