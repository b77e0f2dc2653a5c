"""What a program reads of topics: a frame of which only the columns are chosen so far."""

from __future__ import annotations

import pickle
from collections.abc import Collection
from dataclasses import dataclass, replace

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.types import (
    BooleanType,
    DataType,
    IntegerType,
    StringType,
    StructField,
    StructType,
)

from millstream.engine.rows import SPLIT as SPLIT_COLUMN
from millstream.plan.build.kafka import RECORD
from millstream.plan.nodes import KafkaSource
from millstream.spark.sources.kafka import Offsets, Topics
from millstream.spark.sources.kafka_records import (
    OFFSET_COLUMN,
    PARSED,
    PLACE,
    REJECTED,
    REJECTED_COLUMN,
    SPLIT,
    TEXT,
    RecordColumns,
)
from millstream.spark.sources.kafka_source import Reading, Stage, load, tasks_of
from millstream.spark.types import arrow_of, struct_of

_DESCRIPTION = ("value", "key", "partition", "offset", "timestamp")


@dataclass(frozen=True)
class TopicFrame:
    """Records of topics that are read when it is known what happens to them first.

    Like a DataFrame it has columns and a schema, and takes a Python stage, which then runs where
    the records are read. ``loaded`` is the DataFrame itself. ``columns_of`` are the columns by
    name, and what each has of a record. Without ``ends`` it is a stream.
    """

    spark: SparkSession
    topics: Topics
    starts: Offsets
    ends: Offsets | None
    columns_of: tuple[tuple[str, str], ...] = ()

    def with_columns_of(self, columns: dict[str, str]) -> TopicFrame:
        """The frame with these columns, by name, and what each has of a record."""
        return replace(self, columns_of=tuple(columns.items()))

    def only(self, names: Collection[str]) -> TopicFrame:
        """The frame without other columns."""
        return replace(self, columns_of=tuple(each for each in self.columns_of if each[0] in names))

    @property
    def columns(self) -> list[str]:
        return [name for name, _ in self.columns_of]

    @property
    def schema(self) -> StructType:
        source = self.topics.source
        return StructType([StructField(n, _type(source, column)) for n, column in self.columns_of])

    def mapInArrow(self, stage: Stage, schema: StructType) -> DataFrame:  # noqa: N802 - Spark's name
        """What a Python stage makes of the records."""
        return self._load(schema, stage)

    def loaded(self) -> DataFrame:
        """The records themselves."""
        return self._load(self.schema, None)

    def _load(self, schema: StructType, stage: Stage | None) -> DataFrame:
        columns = RecordColumns(self.topics.source.name, self.columns_of, arrow_of(self.schema))
        tasks = tasks_of(self.spark) if self.ends is None else None
        packed = None if stage is None else pickle.dumps(stage)
        reading = Reading(self.topics, self.starts, self.ends, columns, tasks, packed)
        return load(self.spark, reading, schema)


def with_all_columns(frame: TopicFrame) -> TopicFrame:
    """The frame with all that lowering may need of a record, for records that are copied first."""
    source = frame.topics.source
    names = raw_columns(source) if source.format in ("json", "csv") else source.schema.names
    text = TEXT if source.format == "text" else "value"
    columns = {name: text if name == "value" else name for name in names}
    columns |= {SPLIT_COLUMN: SPLIT, OFFSET_COLUMN: "offset"}
    return frame.with_columns_of(
        columns | ({REJECTED_COLUMN: REJECTED} if source.format == "text" else {})
    )


def raw_columns(source: KafkaSource) -> tuple[str, ...]:
    """What Python gets of each record, to decode its value and to say where a bad one is."""
    return tuple(dict.fromkeys([*_DESCRIPTION, *source.split_by, *source.metadata]))


def _type(source: KafkaSource, column: str) -> DataType:
    if column == SPLIT:
        # A number travels faster than a text.
        return StringType() if "topic" in source.split_by else IntegerType()
    own: dict[str, DataType] = {
        PLACE: struct_of("origin string, split string, offset bigint"),
        TEXT: StringType(),
        REJECTED: StringType(),
        PARSED: BooleanType(),
    }
    return own.get(column) or struct_of(str(RECORD))[column].dataType
