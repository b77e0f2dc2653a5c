"""Input and output of a contender as Kafka topics."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

import polars as pl
from confluent_kafka import Message, TopicPartition

from benchmarks.inputs import BEGIN_SECONDS, Batch
from benchmarks.sizes import Sizes
from benchmarks.spec import Spec
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions

PARTITIONS = 4
_AT_ONCE = 50_000


def made(spec: Spec) -> None:
    """Creates both topics. Records have the time at which they arrived at the broker."""
    connection, appended = Connection(spec.servers), {"message.timestamp.type": "LogAppendTime"}
    for topic in spec.topics:
        create_topic(connection, topic, partitions=PARTITIONS, settings=appended)
    prepare_markers(connection, PARTITIONS)


def send(batch: Batch, number: int, spec: Spec) -> None:
    """Sends a batch in one transaction, so that a contender sees all of it at once."""
    topic, _ = spec.topics
    slice = KafkaSlice(Connection(spec.servers), topic, f"bench-{topic}", 0)
    # In turn, so that all partitions have advanced equally far when the batch ends.
    turns = [n % PARTITIONS for n in range(_AT_ONCE)]
    records = [Records(v, hashes=turns[: len(v)]) for v in _values(batch)]
    transactions().write(slice, number, records)


def _values(batch: Batch) -> Iterator[list[str]]:
    ts = pl.col("ts").dt.strftime("%Y-%m-%dT%H:%M:%S%.6fZ")
    whole = pl.struct("key", "price", ts).struct.json_encode()
    # The files of a batch have every second row each, so that times stay nearly in order.
    rows = pl.concat([pl.read_parquet(file) for file in batch.files]).sort("ts")
    for part in rows.iter_slices(_AT_ONCE):
        yield part.select(whole).to_series().to_list()


@dataclass(frozen=True)
class Sent:
    """What was sent at a steady rate; times are in milliseconds."""

    taken: dict[int, list[int]] = field(default_factory=lambda: defaultdict(list))
    """When each record arrived at the broker, by key and in order."""
    turns: list[tuple[int, int]] = field(default_factory=list)
    """The start and end of each turn."""


def sent_at_rate(spec: Spec, sizes: Sizes, sent: Sent) -> int:
    """Sends records at a steady rate for a turn; returns their number.

    The keys are others than those of the batch before. Records are sent in groups, so that the
    sender and the broker leave the cores to what is measured: time counts from when the broker took
    them.
    """
    topic, _ = spec.topics
    before = sum(map(len, sent.taken.values()))
    settings = {"linger.ms": 50, "partitioner": "murmur2_random"}
    producer = Connection(spec.servers).producer(settings)

    def delivered(error: object, message: Message) -> None:
        assert error is None, error
        sent.taken[int(message.key() or b"")].append(message.timestamp()[1])

    began, number = time.time(), 0
    while (seconds := time.time() - began) < sizes.rate_seconds:
        while number < seconds * sizes.rate:
            key = -1 - number % sizes.few_keys
            micros = (BEGIN_SECONDS + 60) * 1_000_000 + before + number
            ts = datetime.fromtimestamp(micros / 1_000_000, UTC).isoformat()
            value = json.dumps({"key": key, "price": 1, "ts": ts})
            producer.produce(topic, value, str(key), on_delivery=delivered)
            number += 1
        producer.poll(0.02)
    sent.turns.append((int(began * 1000), int(time.time() * 1000)))
    assert producer.flush(30) == 0
    return number


_PANE = pl.Struct(
    {"key": pl.Int64, "n": pl.Int64, "s": pl.Int64, "window": pl.Struct({"start": pl.String})}
)


def received(spec: Spec) -> pl.DataFrame:
    """What a contender has written."""
    _, topic = spec.topics
    panes = [
        pl.Series([message.value() for message in some], dtype=pl.Binary)
        .cast(pl.String)
        .str.json_decode(_PANE)
        .struct.unnest()
        for some in _messages(spec.servers, topic)
    ]
    start = pl.col("window").struct.field("start").str.to_datetime(time_zone="UTC").dt.epoch("s")
    none = pl.DataFrame(schema=_PANE.to_schema())
    return pl.concat([none, *panes]).select(start.alias("start"), "key", "n", "s")


def records(servers: str, topic: str) -> Iterator[tuple[int, dict[str, Any]]]:
    """All records of a topic: when each arrived at the broker, in milliseconds, and its value."""
    for some in _messages(servers, topic):
        for message in some:
            yield message.timestamp()[1], json.loads(message.value() or b"null")


def _messages(servers: str, topic: str) -> Iterator[list[Message]]:
    connection = Connection(servers)
    settings = {"group.id": "bench", "isolation.level": "read_committed"}
    consumer = connection.consumer({**settings, "enable.partition.eof": True})
    places = partitions_of(connection, topic)
    consumer.assign([TopicPartition(topic, each.partition, 0) for each in places])
    ended = 0
    while ended < len(places):
        found = consumer.consume(50_000, 1.0)
        ended += sum(1 for message in found if message.error())  # each is the end of a partition
        yield [message for message in found if not message.error()]
    consumer.close()
