"""What Spark reads of a source, as the first wide frame of its stage."""

from __future__ import annotations

from collections.abc import Sequence

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.engine.rows import PLACE, SPLIT
from millstream.physical.reading import decodes, decodes_lines, may_reject
from millstream.plan.nodes import FilesSource, KafkaSource, Source, SplitSource, TestSource
from millstream.plan.types.schema import hidden
from millstream.spark.columns import col
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.sources import kafka_records as records
from millstream.spark.sources.kafka_frame import TopicFrame, raw_columns
from millstream.spark.sources.kafka_records import OFFSET_COLUMN, REJECTED_COLUMN
from millstream.spark.sources.loading import named
from millstream.spark.worker.envelopes import NAMES
from millstream.spark.worker.step_columns import StepColumns

_PARSED = "__millstream_parsed"
_GIVEN = "__millstream_given"


def source_frame(
    lowering: Lowering, source: Source, frame: DataFrame | TopicFrame, apart: bool = False
) -> WideFrame:
    """The wide frame of a source of which Spark reads ``frame``.

    With ``apart``, the first Python stage does not run where records of Kafka are read.
    """
    plan = lowering.plan
    if isinstance(frame, TopicFrame):
        return _topic_frame(lowering, frame, apart)
    if isinstance(source, TestSource):
        return _test_frame(lowering, source, frame)
    names = {name: f"__millstream_s{i}" for i, name in enumerate(_read_columns(lowering, source))}
    columns = [col(name).alias(column) for name, column in names.items()]
    if isinstance(source, KafkaSource):
        columns.append(col(SPLIT))
    elif isinstance(source, SplitSource) and source not in plan.loaded and source.split:
        columns.append(col(source.split).cast("string").alias(SPLIT))
    place = None
    if plan.is_ordered and isinstance(source, KafkaSource):
        place = PLACE
        columns.append(_place(source).alias(place))
    flag = None
    if may_reject(source) and not decodes(source) and not decodes_lines(source):
        flag = _PARSED
        columns += [col(REJECTED_COLUMN), col(REJECTED_COLUMN).isNull().alias(flag)]
    (read,) = [i for i in plan.of(0, source, 0) if i.node is source]
    wide = WideFrame(frame.select(*columns), {read: StepColumns(names, flag, place=place)}, [])
    wide.rejected = {} if flag is None else {read: REJECTED_COLUMN}
    lowering.types[read] = wide.types(read)
    return wide


def _topic_frame(lowering: Lowering, frame: TopicFrame, apart: bool) -> WideFrame:
    """The records of topics: no more of them than the program reads.

    A stage that does not run where they are read also needs what describes a record, if it decodes
    them: it may have to say which one it rejects. Others ask for the values as they are.
    """
    source = frame.topics.source
    read_ = source.schema.names
    if decodes(source):
        read_ = raw_columns(source) if apart else source.metadata
    names = {name: f"__millstream_s{i}" for i, name in enumerate(read_)}
    text = records.TEXT if source.format == "text" else "value"
    columns = {c: text if name == "value" else name for name, c in names.items()}
    columns[SPLIT] = records.SPLIT
    place = flag = None
    if lowering.plan.is_ordered:
        place = PLACE
        columns[place] = records.PLACE
    if source.format == "text":
        flag = _PARSED
        columns |= {REJECTED_COLUMN: records.REJECTED, flag: records.PARSED}
    (read,) = [i for i in lowering.plan.of(0, source, 0) if i.node is source]
    made = frame.with_columns_of(columns)
    wide = WideFrame(made, {read: StepColumns(names, flag, place=place)}, [])
    wide.rejected = {} if flag is None else {read: REJECTED_COLUMN}
    lowering.types[read] = wide.types(read)
    return wide


def _test_frame(lowering: Lowering, source: TestSource, frame: DataFrame) -> WideFrame:
    """The rows of a replay, and beside them the envelopes that move watermarks and clocks."""
    names = {name: f"__millstream_s{i}" for i, name in enumerate(source.schema.names)}
    frame = frame.select(
        *(col(name).alias(column) for name, column in names.items()),
        *(col(hidden(name)).alias(name) for name in NAMES),
        col(hidden("kind")).isNull().alias(_GIVEN),
    )
    (read,) = lowering.plan.of(0, source, 0)[:1]
    wide = WideFrame(frame, {read: StepColumns(names, _GIVEN)}, list(NAMES))
    lowering.types[read] = wide.types(read)
    return wide


def _place(source: KafkaSource) -> Column:
    """Where a record is: Spark may read a partition in other tasks when it retries a batch."""
    return F.struct(
        F.lit(source.name).alias("origin"),
        col(SPLIT).cast("string").alias("split"),
        col(OFFSET_COLUMN).alias("offset"),
    )


def has_splits(source: Source | None) -> bool:
    """Whether the rows of a source belong to splits that are known."""
    if isinstance(source, KafkaSource):
        return True
    return isinstance(source, SplitSource) and source.split is not None


def _read_columns(lowering: Lowering, source: Source) -> Sequence[str]:
    """The columns that Spark reads of a source."""
    plan = lowering.plan
    if isinstance(source, FilesSource) and source in plan.loaded:
        return named(plan.opens(source))
    return raw_columns(source) if decodes(source) else source.schema.names
