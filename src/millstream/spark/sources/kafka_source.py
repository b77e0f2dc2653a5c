"""Topics as a data source of Spark: Spark keeps the offsets, Python reads the records.

Spark asks a process on the driver how far there is something to read, and writes the answer to its
log. Workers then read these offsets with librdkafka. Where the first stage of a program is a Python
stage, they run it at once: nothing but its results enters the JVM.
"""

from __future__ import annotations

import base64
import heapq
import json
import os
import pickle
import sys
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache, lru_cache
from typing import Any, Protocol

import pyarrow as pa
from confluent_kafka import Message
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.datasource import (
    DataSource,
    DataSourceReader,
    DataSourceStreamReader,
    InputPartition,
)
from pyspark.sql.streaming.datasource import ReadLimit
from pyspark.sql.types import StructType

from millstream.kafka.client.ranges import Range, reader_of
from millstream.spark.compat.remote import is_local
from millstream.spark.sources.kafka import Offsets, Topics, unopened
from millstream.spark.sources.kafka_ends import Ends
from millstream.spark.sources.kafka_records import RecordColumns, described
from millstream.system.garbage import collect_rarely

_NAME = "millstream_kafka"
_SCHEMA = "schema_json"
# Spark hides the values of options whose names have such a word: settings may contain passwords.
_READING = "secret_reading"


class Stage(Protocol):
    """A Python stage that takes the records where they are read.

    With ``in_turn``, a partition must end before another begins.
    """

    in_turn: bool

    def __call__(
        self, batches: Iterable[pa.RecordBatch], records: Records | None = None
    ) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class Reading:
    """What to read of topics: from where on, what of each record, and what to do with it at once.

    ``ends`` are set if all is read in one batch. ``tasks`` is how many tasks there are at most.
    ``stage`` is a pickled ``Stage``: the driver's processes need not import what it needs.
    """

    topics: Topics
    starts: Offsets
    ends: Offsets | None
    columns: RecordColumns
    tasks: int | None = None
    stage: bytes | None = None

    def ranges(self, starts: Offsets, ends: Offsets) -> list[Range]:
        """What is between two positions; a partition that is new is read from its beginning."""
        found = (Range(*place, starts.get(place, 0), end) for place, end in sorted(ends.items()))
        return [each for each in found if each.size > 0]

    def partitions(self, ranges: Sequence[Range]) -> list[TaskRanges]:
        """The ranges, in as many tasks as there may be, each with about as many records."""
        if self.tasks is None or len(ranges) <= self.tasks:
            return [TaskRanges([each]) for each in ranges]
        tasks: list[tuple[int, int, list[Range]]] = [(0, n, []) for n in range(self.tasks)]
        for each in sorted(ranges, key=lambda each: -each.size):
            size, number, some = tasks[0]
            some.append(each)
            heapq.heapreplace(tasks, (size + each.size, number, some))
        by_number = sorted(tasks, key=lambda task: task[1])
        return [TaskRanges(sorted(some, key=lambda each: each.place)) for _, _, some in by_number]

    def all_partitions(self) -> list[TaskRanges]:
        """What each task reads of all there is; Spark requires at least one task."""
        assert self.ends is not None
        return self.partitions(self.ranges(self.starts, self.ends)) or [TaskRanges([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The record batches of a task."""
        collect_rarely()
        assert isinstance(partition, TaskRanges)
        stage: Stage | None = None if self.stage is None else pickle.loads(self.stage)
        records = Records(self, partition.ranges, in_turn=stage is None or stage.in_turn)
        return iter(records) if stage is None else stage(records, records)


class TaskRanges(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: list[Range]) -> None:
        super().__init__(None)
        self.ranges = ranges


class Records:
    """The records of some ranges as record batches, one after another.

    A stage may also ask for the values of the newest batch as they are, and for each record.
    """

    def __init__(self, reading: Reading, ranges: list[Range], in_turn: bool) -> None:
        self._reading = reading
        self._ranges = ranges
        self._in_turn = in_turn
        self._newest: tuple[Range, list[Message]]

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        reading = self._reading
        topics, columns = reading.topics, reading.columns
        reader = reader_of(topics.connection, topics.source.name)
        skip_lost = topics.source.on_data_loss == "continue"
        found = reader.read(self._ranges, skip_lost=skip_lost, in_turn=self._in_turn)
        for each, messages in found:
            self._newest = each, messages
            yield columns.batch(each, topics.split_name(*each.place), messages)

    def values(self) -> list[bytes | None]:
        """The values of the newest batch."""
        _, messages = self._newest
        return [_value(message) for message in messages]

    def describe(self, row: int) -> dict[str, Any]:
        """The record that a row of the newest batch is of."""
        range, messages = self._newest
        return described(range, messages[row])


def _value(message: Message) -> Any:
    return message.value()


# Before the first batch, Spark starts processes on the driver that only look at the data source.
# Classes that are made in a function travel as code: so these need not import Millstream.


@cache
def _data_source() -> type[DataSource]:
    """The data source, as Spark knows it; all that it needs is in options."""
    batch_reader, stream_reader = _batch_reader(), _stream_reader()

    class KafkaData(DataSource):
        @classmethod
        def name(cls) -> str:
            return _NAME

        def schema(self) -> StructType:
            return StructType.fromJson(json.loads(self.options[_SCHEMA]))

        def reader(self, schema: StructType) -> DataSourceReader:
            return batch_reader(self.options[_READING])

        def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
            return stream_reader(self.options[_READING])

    return KafkaData


def _batch_reader() -> Callable[[str], DataSourceReader]:
    class BatchReader(DataSourceReader):
        def __init__(self, reading: str) -> None:
            self._reading = reading

        def partitions(self) -> Sequence[InputPartition]:
            from millstream.spark.sources.kafka_source import unpacked

            return unpacked(self._reading).all_partitions()

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            from millstream.spark.sources.kafka_source import unpacked

            return unpacked(self._reading).read(partition)

    return BatchReader


def _stream_reader() -> Callable[[str], DataSourceStreamReader]:
    class StreamReader(DataSourceStreamReader):
        def __init__(self, reading: str) -> None:
            self._reading = reading

        @property
        def _offsets(self) -> StreamOffsets:
            from millstream.spark.sources.kafka_source import stream_offsets

            return stream_offsets(self._reading)

        def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
            return self._offsets.first()

        def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
            return self._offsets.last(start)

        def partitions(
            self, start: dict[str, Any], end: dict[str, Any]
        ) -> Sequence[InputPartition]:
            return self._offsets.partitions(start, end)

        def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
            from millstream.spark.sources.kafka_source import unpacked

            return unpacked(self._reading).read(partition)

        def stop(self) -> None:
            # Spark has closed the connection. PySpark would try to answer, and print that it
            # cannot.
            if isinstance(sys.exception(), EOFError):
                os._exit(0)

    return StreamReader


@lru_cache(maxsize=16)
def unpacked(reading: str) -> Reading:
    """What to read, of the text of an option."""
    made: Reading = pickle.loads(base64.b64decode(reading))
    return made


@lru_cache(maxsize=16)
def stream_offsets(reading: str) -> StreamOffsets:
    """The offsets of a stream, in the process on the driver that Spark asks for them."""
    return StreamOffsets(unpacked(reading))


class StreamOffsets:
    """Where the batches of a stream begin and end.

    Offsets are in the form of Spark's own source for Kafka, so that its checkpoints can be resumed.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._ends = Ends(reading.topics)

    def first(self) -> dict[str, Any]:
        """Where the first batch begins."""
        return as_json(self._reading.starts)

    def last(self, start: dict[str, Any]) -> dict[str, Any]:
        """Where a batch ends that begins there."""
        return as_json(self._ends.after(from_json(start)))

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> list[TaskRanges]:
        """What each task reads of a batch."""
        reading = self._reading
        return reading.partitions(reading.ranges(from_json(start), from_json(end)))


def as_json(offsets: Offsets) -> dict[str, Any]:
    """Offsets as Spark's own source for Kafka writes them.

    >>> as_json({("scores", 0): 5, ("scores", 1): 7})
    {'scores': {'0': 5, '1': 7}}
    """
    found: dict[str, dict[str, int]] = {}
    for (topic, partition), offset in sorted(offsets.items()):
        found.setdefault(topic, {})[str(partition)] = offset
    return found


def from_json(offsets: dict[str, Any]) -> Offsets:
    """The same from there."""
    return {(t, int(n)): offset for t, each in offsets.items() for n, offset in each.items()}


def load(spark: SparkSession, reading: Reading, schema: StructType) -> DataFrame:
    """The frame of what is read, with the columns that its stage makes, or else its own.

    It is all in one batch if there are ends, and else a stream.
    """
    spark.dataSource.register(_data_source())
    packed = pickle.dumps(replace(reading, topics=unopened(reading.topics)))
    options = {_READING: base64.b64encode(packed).decode(), _SCHEMA: schema.json()}
    reads = spark.readStream if reading.ends is None else spark.read
    return reads.format(_NAME).options(**options).load()


def tasks_of(spark: SparkSession) -> int | None:
    """A task for each core, where these are known, and else one for each partition.

    On one machine most tasks of short batches would take longer to begin and end than to read.
    """
    return spark.sparkContext.defaultParallelism if is_local(spark) else None
