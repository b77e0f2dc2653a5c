"""Topics of the tests' broker: made, filled and read back to their ends."""

from __future__ import annotations

import json
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import count
from typing import Any

from confluent_kafka import Consumer, TopicPartition

from millstream.kafka.admin.topics import create_topic, delete_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of, topic_ids, topic_names
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from waiting import until

_numbers = count(1)


def new_topic(servers: str, partitions: int = 1, **settings: str) -> str:
    """A topic that no other test has."""
    name = f"topic-of-a-test-{next(_numbers)}"
    named = {key.replace("_", "."): value for key, value in settings.items()}
    create_topic(Connection(servers), name, partitions=partitions, settings=named)
    return name


def create_again(servers: str, topic: str) -> None:
    """Deletes a topic, and creates another of the same name."""
    connection = Connection(servers)
    delete_topic(connection, topic)
    until(lambda: topic not in topic_names(connection))
    create_topic(connection, topic, partitions=1)
    until(lambda: topic_ids(connection, [topic]))


def put(servers: str, topic: str, records: Iterable[Any], partition: int = -1) -> None:
    """Adds records: (key, value) or a value; what is no text is written as JSON."""
    producer = Connection(servers).producer({"partitioner": "murmur2_random"})
    failures: list[Any] = []
    for record in records:
        key, value = record if isinstance(record, tuple) else (None, record)
        text = value if isinstance(value, str | bytes | None) else json.dumps(value)
        producer.produce(
            topic, text, key, partition, on_delivery=lambda e, _: failures.append(e) if e else None
        )
    assert producer.flush(30) == 0
    assert not failures


@dataclass(frozen=True)
class Read:
    """A record that was read back."""

    key: str | None
    value: str | None
    headers: dict[str, str | None]
    partition: int

    @property
    def json(self) -> Any:
        return None if self.value is None else json.loads(self.value)


def read(servers: str, topic: str, isolation: str = "read_committed") -> list[Read]:
    """All that is in a topic, in order within partitions; readers see only what is committed."""
    settings = {"group.id": "tests", "isolation.level": isolation, "enable.auto.commit": False}
    consumer = Connection(servers).consumer({**settings, "enable.partition.eof": True})
    places = partitions_of(Connection(servers), topic)
    consumer.assign([TopicPartition(topic, each.partition, 0) for each in places])
    try:
        return _to_the_ends(consumer, len(places))
    finally:
        consumer.close()


def values(slice: KafkaSlice) -> list[str | None]:
    """The values in the topic of a slice, in order."""
    return sorted(record.value for record in read(slice.connection.servers, slice.topic))


def _to_the_ends(consumer: Consumer, partitions: int) -> list[Read]:
    found, ended = [], 0
    while ended < partitions:
        (message,) = consumer.consume(1, 30) or [None]
        assert message is not None, "the topic cannot be read to its end"
        if message.error():
            assert message.error().name() == "_PARTITION_EOF", message.error()
            ended += 1
            continue
        headers = {name: _text(value) for name, value in message.headers() or []}
        key, value = _text(message.key()), _text(message.value())
        found.append(Read(key, value, headers, message.partition()))
    return found


def _text(data: bytes | None) -> str | None:
    return None if data is None else data.decode()
