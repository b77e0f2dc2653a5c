"""The sink that is a topic of Kafka: rows become records, and a slice is written at once."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

import polars as pl
import pyarrow as pa
from confluent_kafka.admin import AclOperation

from millstream.engine.rows import from_arrow
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.partitioning import java_hash
from millstream.kafka.client.rights import check_group_right, check_topic_rights
from millstream.kafka.delivery.at_least_once import plain_producers
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS, prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions
from millstream.kafka.settings import librdkafka_settings
from millstream.plan.targets import Columns, Kafka, Target
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.protocol import SinkKind
from millstream.sinks.slices import Slice
from millstream.sinks.texts import json_lines, plain

KIND = "kind"


class KafkaSink(SinkKind[Kafka]):
    """A topic of Kafka, for ``write_kafka``."""

    def check_access(self, slices: int) -> None:
        """An error for a topic that does not exist or may not be written."""
        connection, topic = connection_of(self.target), self.target.topic
        partitions_of(connection, topic)
        check_topic_rights(connection, [topic], AclOperation.WRITE, "write to topic")
        if self._once:
            prepare_markers(connection, slices)
            once = "write once, with topic"
            check_topic_rights(connection, [MARKERS], AclOperation.READ, once)

    def check_run(self, run: str) -> None:
        """MS328 for a group that may not be used: to writers, the brokers would seem away."""
        if self._once:
            doing = f"write exactly once to topic {self.target.topic!r}"
            check_group_right(connection_of(self.target), _group(self.name, run), doing)

    def opened(self) -> Target:
        """The same with the address of its brokers, which is known only where the job starts."""
        return replace(self.target, servers=connection_of(self.target).servers)

    def expect(self, slice: Slice) -> None:
        """Opens the slice in the background, while its rows are still computed."""
        if self._once:
            transactions().expect(kafka_slice(self.name, self.target, slice), slice.batch)

    def writer(self, slice: Slice) -> KafkaWriter:
        """Writes a slice in one transaction, or at least once."""
        return KafkaWriter(self.name, self.target, slice)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> KafkaCommitter:
        """Has nothing to commit: each slice has its own transaction."""
        return KafkaCommitter()

    @property
    def _once(self) -> bool:
        return self.target.delivery == "exactly_once"


class KafkaWriter:
    """Collects the rows of a slice, and writes all of them when it is closed."""

    def __init__(self, sink: str, target: Kafka, slice: Slice) -> None:
        self._target = target
        self._slice = slice
        self._kafka_slice = kafka_slice(sink, target, slice)
        self._tables: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows: a slice is written in one transaction, perhaps in several attempts."""
        if rows.num_rows:
            self._tables.append(rows)

    def close(self) -> bytes:
        """Writes the slice, unless it was written before; returns once its records have arrived."""
        tables, target, slice = self._tables, self._target, self._kafka_slice
        if target.changes == "upsert" and tables:
            tables = [_latest(pa.concat_tables(tables), target)]
        records = [records_of(table, target) for table in tables]
        if target.delivery == "exactly_once":
            transactions().write(slice, self._slice.batch, records)
        else:
            plain_producers().write(slice.connection, slice.topic, records)
        return b""

    def abort(self) -> None:
        """Drops the rows; none has been sent."""
        self._tables.clear()


def _group(sink: str, run: str) -> str:
    # No two slices may have the same ids, whatever the names contain: once one of them is
    # written, the other would count as written too.
    return f"millstream-{run[:16]}-{quote(sink, safe='')}"


def kafka_slice(sink: str, target: Kafka, slice: Slice) -> KafkaSlice:
    """The slice with its ids in Kafka."""
    group = _group(sink, slice.run)
    # A number is a partition of the markers' topic, so a name cannot be turned into a number.
    ids = (f"{group}/{slice.name}", 0) if slice.name else (group, slice.number)
    return KafkaSlice(connection_of(target), target.topic, *ids)


class KafkaCommitter:
    """Has nothing to commit: each slice has its own transaction."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Does nothing."""


def connection_of(target: Kafka) -> Connection:
    """The cluster that a sink writes to."""
    return Connection.to(target.servers, librdkafka_settings(dict(target.options)))


def records_of(table: pa.Table, target: Kafka) -> Records:
    """The rows as records."""
    rows = from_arrow(table)
    values = _bytes(rows, target.value)
    needs_header = target.retracts and KIND not in _names(target.value)
    if target.retracts and target.changes == "upsert":
        values = values.set(rows[KIND] == "-", None)
        needs_header = False
    named = dict(target.headers) | ({KIND: KIND} if needs_header else {})
    headers = {name: _bytes(rows, column).to_list() for name, column in named.items()}
    pairs = [list(zip(headers, row, strict=True)) for row in zip(*headers.values(), strict=True)]
    return Records(
        values.to_list(),
        None if target.key is None else _bytes(rows, target.key).to_list(),
        pairs if headers else None,
        None if target.partition_by is None else _hashes(_bytes(rows, target.partition_by)),
    )


def _bytes(rows: pl.DataFrame, columns: Columns) -> pl.Series:
    """A column as it is, or several as JSON; null stays null."""
    if not isinstance(columns, str):
        return json_lines(rows.select(columns))
    column = rows[columns]
    if column.dtype in (pl.String, pl.Binary):
        return column
    return rows.select(plain(pl.col(columns), column.dtype).alias(columns))[columns]


def _names(columns: Columns) -> tuple[str, ...]:
    return (columns,) if isinstance(columns, str) else columns


def _latest(table: pa.Table, target: Kafka) -> pa.Table:
    """Of each key, the last row: a retraction only if no other row followed it."""
    assert target.key is not None
    keys = _bytes(from_arrow(table), target.key).to_frame("key").with_row_index()
    last = keys.group_by("key").agg(pl.col("index").max())["index"].sort()
    return table.take(last.to_arrow())


def _hashes(texts: pl.Series) -> list[int]:
    """The hash of each text that Java's producer has for keys."""
    known = {text: java_hash(text) for text in texts.unique()}
    return [known[text] for text in texts]
