"""Many records at once: as columns, and as calls of a producer."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import repeat

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, Producer

from millstream.kafka.client.partitioning import CLIENT_SETTINGS

PRODUCER_SETTINGS = {
    **CLIENT_SETTINGS,
    "enable.idempotence": True,
    # All records of a slice come at once: a record that waits here delays the commit.
    "linger.ms": 1,
    "queue.buffering.max.messages": 1_000_000,
    # The first attempts of a new client must be quick: a worker may open one for each slice.
    "reconnect.backoff.ms": 10,
    "retry.backoff.ms": 20,
}
"""Settings of producers that get all records of a slice at once."""

_MOST_AT_ONCE = 50_000

OnDelivery = Callable[[Failure | None, object], None]
"""Called for each record, with None once it has arrived."""


@dataclass(frozen=True)
class Records:
    """Records of a topic, column by column; with ``hashes``, these choose the partitions."""

    values: Sequence[bytes | str | None]
    keys: Sequence[bytes | str | None] | None = None
    headers: Sequence[list[tuple[str, bytes | str | None]]] | None = None
    hashes: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def messages(self) -> list[dict[str, object]]:
        """Values and keys, in the form of ``Producer.produce_batch``."""
        if self.keys is None:
            return [{"value": value} for value in self.values]
        pairs = zip(self.values, self.keys, strict=True)
        return [{"value": value, "key": key} for value, key in pairs]


def produce_records(
    producer: Producer,
    topic: str,
    records: Records,
    timeout: float,
    on_delivery: OnDelivery | None = None,
) -> None:
    """Gives records to a producer, and waits where its queue is full, not for their delivery."""
    if records.headers is None and records.hashes is None:
        messages = records.messages()
        for start in range(0, len(messages), _MOST_AT_ONCE):
            _produce_batch(producer, topic, messages[start : start + _MOST_AT_ONCE], on_delivery)
        return
    # The client takes many at once only where it chooses partitions, and without headers.
    many = len(records)
    for value, key, headers, partition in zip(
        records.values,
        records.keys or repeat(None, many),
        records.headers or repeat(None, many),
        _partitions(producer, topic, records.hashes, timeout)
        if records.hashes
        else repeat(-1, many),
        strict=True,
    ):
        while True:
            try:
                producer.produce(topic, value, key, partition, on_delivery, headers=headers)
                break
            except BufferError:
                producer.poll(0.05)


def _partitions(producer: Producer, topic: str, hashes: Sequence[int], timeout: float) -> list[int]:
    """The partition for each hash, of those that the topic has now."""
    metadata = producer.list_topics(topic, timeout=timeout).topics[topic]
    if metadata.error is not None:
        raise KafkaException(metadata.error)
    return [each % len(metadata.partitions) for each in hashes]


def _produce_batch(
    producer: Producer,
    topic: str,
    messages: list[dict[str, object]],
    on_delivery: OnDelivery | None,
) -> None:
    while messages:
        with suppress(BufferError):
            producer.produce_batch(topic, messages, on_delivery=on_delivery)
        left = [message for message in messages if "_error" in message]
        for message in left:
            failure = message.pop("_error")
            if isinstance(failure, Failure) and failure.code() != Failure._QUEUE_FULL:
                raise KafkaException(failure)
        if left:
            producer.poll(0.05)
        messages = left
