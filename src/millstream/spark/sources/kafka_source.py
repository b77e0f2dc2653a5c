"""Topics as a data source of Spark: Spark keeps the offsets, Python reads the records.

Spark asks a process on the driver how far there is something to read, and writes the answer to its
log. Workers then read these offsets with librdkafka. Where the first stage of a program is a Python
stage, they run it at once: nothing but its results enters the JVM.
"""

from __future__ import annotations

import base64
import heapq
import pickle
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
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
from pyspark.sql.streaming.datasource import ReadAllAvailable, ReadLimit
from pyspark.sql.types import StructType

from millstream.kafka.client.ranges import Range, reader_of
from millstream.spark.compat.remote import is_local
from millstream.spark.sources.kafka import Offsets, Topics, unopened
from millstream.spark.sources.kafka_ends import Ends
from millstream.spark.sources.kafka_records import RecordColumns, described

_NAME = "millstream_kafka"
# Spark hides the values of options whose names have such a word: settings may contain passwords.
_OPTION = "secret"


Describe = Callable[[int], dict[str, Any]]


class Stage(Protocol):
    """A Python stage that takes the records where they are read.

    ``describe`` returns the record that a row of the newest record batch is of. With ``in_turn``, a
    partition must end before another begins.
    """

    in_turn: bool

    def __call__(
        self, batches: Iterable[pa.RecordBatch], describe: Describe | None = None
    ) -> Iterator[pa.RecordBatch]: ...


@dataclass(frozen=True)
class Reading:
    """What to read of topics: from where on, what of each record, and what to do with it at once.

    ``ends`` are set if all is read in one batch. ``tasks`` is how many tasks there are at most.
    """

    topics: Topics
    starts: Offsets
    ends: Offsets | None
    columns: RecordColumns
    schema: StructType
    tasks: int | None = None
    stage: Stage | None = None

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

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        """The record batches of a task."""
        assert isinstance(partition, TaskRanges)
        records = _Records(self, partition.ranges)
        return iter(records) if self.stage is None else self.stage(records, records.describe)


class TaskRanges(InputPartition):
    """What one task reads."""

    def __init__(self, ranges: list[Range]) -> None:
        super().__init__(None)
        self.ranges = ranges


class _Records:
    """The records of some ranges as record batches, one after another."""

    def __init__(self, reading: Reading, ranges: list[Range]) -> None:
        self._reading = reading
        self._ranges = ranges
        self._newest: tuple[Range, list[Message]] | None = None

    def __iter__(self) -> Iterator[pa.RecordBatch]:
        reading = self._reading
        topics, columns = reading.topics, reading.columns
        reader = reader_of(topics.connection)
        stage = reading.stage
        found = reader.read(
            self._ranges,
            skip_lost=topics.source.on_data_loss == "continue",
            in_turn=stage is None or stage.in_turn,
        )
        for each, messages in found:
            self._newest = each, messages
            yield columns.batch(each, topics.split_name(*each.place), messages)

    def describe(self, row: int) -> dict[str, Any]:
        """The record that a row of the newest record batch is of."""
        assert self._newest is not None
        range, messages = self._newest
        return described(range, messages[row])


class KafkaData(DataSource):
    """The data source, as Spark knows it. All that it needs is in one option."""

    @classmethod
    def name(cls) -> str:
        return _NAME

    def schema(self) -> StructType:
        return self._reading.schema

    def reader(self, schema: StructType) -> DataSourceReader:
        return _BatchReader(self._reading)

    def streamReader(self, schema: StructType) -> DataSourceStreamReader:  # noqa: N802
        return _StreamReader(self._reading)

    @property
    def _reading(self) -> Reading:
        return _unpacked(self.options[_OPTION])


@lru_cache(maxsize=16)
def _unpacked(option: str) -> Reading:
    made: Reading = pickle.loads(base64.b64decode(option))
    return made


class _BatchReader(DataSourceReader):
    def __init__(self, reading: Reading) -> None:
        self._reading = reading

    def partitions(self) -> Sequence[InputPartition]:
        reading = self._reading
        assert reading.ends is not None
        # Spark would make a task of its own of no partitions at all.
        return reading.partitions(reading.ranges(reading.starts, reading.ends)) or [TaskRanges([])]

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.read(partition)


class _StreamReader(DataSourceStreamReader):
    """Runs on the driver, in a process of its own, but for ``read``.

    Offsets are in the form of Spark's own source for Kafka, so that its checkpoints can be resumed.
    """

    def __init__(self, reading: Reading) -> None:
        self._reading = reading
        self._ends: Ends | None = None

    def __reduce__(self) -> tuple[Any, ...]:
        return _StreamReader, (self._reading,)  # workers only read

    def initialOffset(self) -> dict[str, Any]:  # noqa: N802 - Spark's name
        return as_json(self._reading.starts)

    def latestOffset(self, start: dict[str, Any], limit: ReadLimit) -> dict[str, Any]:  # noqa: N802
        if self._ends is None:
            self._ends = Ends(self._reading.topics)
        return as_json(self._ends.after(from_json(start)))

    def getDefaultReadLimit(self) -> ReadLimit:  # noqa: N802 - Spark's name
        return ReadAllAvailable()

    def partitions(self, start: dict[str, Any], end: dict[str, Any]) -> Sequence[InputPartition]:
        reading = self._reading
        return reading.partitions(reading.ranges(from_json(start), from_json(end)))

    def read(self, partition: InputPartition) -> Iterator[pa.RecordBatch]:
        return self._reading.read(partition)


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


def load(spark: SparkSession, reading: Reading) -> DataFrame:
    """The frame of what is read: in one batch if that has ends, else as a stream."""
    spark.dataSource.register(KafkaData)
    packed = replace(reading, topics=unopened(reading.topics))
    option = base64.b64encode(pickle.dumps(packed)).decode()
    reads = spark.readStream if reading.ends is None else spark.read
    return reads.format(_NAME).option(_OPTION, option).load()


def tasks_of(spark: SparkSession) -> int | None:
    """A task for each core, where these are known, and else one for each partition.

    On one machine most tasks of short batches would take longer to begin and end than to read.
    """
    return spark.sparkContext.defaultParallelism if is_local(spark) else None
