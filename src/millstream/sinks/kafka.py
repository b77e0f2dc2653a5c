"""The sink that is a topic of Kafka: rows become records, and a slice is written in one go."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from urllib.parse import quote

import polars as pl
import pyarrow as pa
from confluent_kafka.admin import AclOperation

from millstream.engine.rows import from_arrow
from millstream.kafka import writing
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.partitioning import java_hash
from millstream.kafka.client.rights import check_group_right, check_topic_rights
from millstream.kafka.settings import translated
from millstream.kafka.writing import Place, Records, prepare_markers, write_once, write_some
from millstream.plan.targets import Columns, Kafka, Target
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.protocol import SinkKind
from millstream.sinks.slices import Slice
from millstream.sinks.texts import json_lines, plain

KIND = "kind"


class KafkaSink(SinkKind[Kafka]):
    """A topic of Kafka, for ``write_kafka``."""

    def check_access(self, slices: int) -> None:
        """Refuses a topic that is not there or may not be written."""
        connection, topic = connection_of(self.target), self.target.topic
        partitions_of(connection, topic)
        check_topic_rights(connection, [topic], AclOperation.WRITE, "write to topic")
        if self._once:
            prepare_markers(connection, slices)
            once = "write once, with topic"
            check_topic_rights(connection, [writing.MARKERS], AclOperation.READ, once)

    def check_run(self, run: str) -> None:
        """Refuses a group that may not be used: writers would take that for brokers away."""
        if self._once:
            doing = f"write exactly once to topic {self.target.topic!r}"
            check_group_right(connection_of(self.target), _group(self.name, run), doing)

    def opened(self) -> Target:
        """Which brokers are meant is known where the job starts."""
        return replace(self.target, servers=connection_of(self.target).servers)

    def expect(self, slice: Slice) -> None:
        """Begins the transaction of the slice."""
        if self._once:
            writing.expect(_place(self.name, self.target, slice), slice.batch)

    def writer(self, slice: Slice) -> KafkaWriter:
        """Writes a slice in one transaction, or as it is."""
        return KafkaWriter(self.name, self.target, slice)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> KafkaCommitter:
        """Slices commit themselves."""
        return KafkaCommitter()

    @property
    def _once(self) -> bool:
        return self.target.delivery == "exactly_once"


class KafkaWriter:
    """Collects the rows of a slice, and writes them when all of them are there."""

    def __init__(self, sink: str, target: Kafka, slice: Slice) -> None:
        self._target = target
        self._slice = slice
        self._place = _place(sink, target, slice)
        self._tables: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows: all of a slice is written in one transaction, maybe more than once."""
        if rows.num_rows:
            self._tables.append(rows)

    def close(self) -> bytes:
        """Writes the slice, unless it was written before; returns when it is safe."""
        tables, target, place = self._tables, self._target, self._place
        if target.changes == "upsert" and tables:
            tables = [_latest(pa.concat_tables(tables), target)]
        records = [records_of(table, target) for table in tables]
        if target.delivery == "exactly_once":
            write_once(place, self._slice.batch, records)
        else:
            write_some(place.connection, place.topic, records)
        return b""

    def abort(self) -> None:
        """Forgets the rows; none has been sent."""
        self._tables.clear()


def _group(sink: str, run: str) -> str:
    # No two slices may be known by the same words, whatever is in the names: one would be
    # taken for written when the other is.
    return f"millstream-{run[:16]}-{quote(sink, safe='')}"


def _place(sink: str, target: Kafka, slice: Slice) -> Place:
    group = _group(sink, slice.run)
    # Numbers are those of partitions of the markers' topic, so one of a name would be too high.
    known = (f"{group}/{slice.name}", 0) if slice.name else (group, slice.number)
    return Place(connection_of(target), target.topic, *known)


class KafkaCommitter:
    """Slices commit themselves."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Nothing is left to do."""


def connection_of(target: Kafka) -> Connection:
    """The cluster that a sink writes to."""
    return Connection.to(target.servers, translated(dict(target.options)))


def records_of(table: pa.Table, target: Kafka) -> Records:
    """The rows as records."""
    rows = from_arrow(table)
    values = _bytes(rows, target.value)
    told = target.retracts and KIND not in _names(target.value)
    if target.retracts and target.changes == "upsert":
        values = values.set(rows[KIND] == "-", None)
        told = False
    named = dict(target.headers) | ({KIND: KIND} if told else {})
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
    """Of each key, what came last: a retraction only if nothing came in its place."""
    assert target.key is not None
    keys = _bytes(from_arrow(table), target.key).to_frame("key").with_row_index()
    last = keys.group_by("key").agg(pl.col("index").max())["index"].sort()
    return table.take(last.to_arrow())


def _hashes(texts: pl.Series) -> list[int]:
    """The hash of each text that Java's producer has for keys."""
    known = {text: java_hash(text) for text in texts.unique()}
    return [known[text] for text in texts]
