"""Reads sources: each kind as the DataFrame that Spark has for it."""

from __future__ import annotations

import hashlib
import re
from collections.abc import Callable, Mapping
from types import MappingProxyType

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession

from millstream.engine.rows import fitting
from millstream.kafka.client.positions import BEGINNING, END
from millstream.physical.plan import Physical
from millstream.plan.layouts import listing_options
from millstream.plan.nodes import (
    FilesSource,
    FrameSource,
    KafkaSource,
    RateSource,
    RowsSource,
    SocketSource,
    Source,
    unknown_kind,
)
from millstream.spark.sources.file_tasks import TASKS, FileTasks
from millstream.spark.sources.kafka import Offsets, Topics, check_unchanged
from millstream.spark.sources.kafka_frame import TopicFrame, with_all_columns
from millstream.spark.sources.loading import NAMES, named
from millstream.spark.sources.socket import lines_sent
from millstream.spark.types import arrow_of, struct_of
from millstream.system.folders import Folder

_WRITTEN = "_written"


def reader(
    spark: SparkSession,
    plan: Physical,
    streaming: bool,
    folder: str | None,
    topics: Mapping[str, Topics],
    file_tasks: FileTasks | None = None,
    starts: Mapping[str, Offsets] = MappingProxyType({}),
) -> Callable[[Source], DataFrame | TopicFrame]:
    """What reads a source: all of it at once, or as a stream.

    Spark would read a table again in each micro-batch of a stream. So in a stream, rows that are
    given are files, too, in a ``folder`` of the job's own. Of files that Python loads, it reads no
    more than the names where Python can open them. ``file_tasks`` says in how many tasks ticks are
    made, and ``starts`` where topics begin that are read as a stream.
    """

    def as_stream(source: Source, frame: DataFrame) -> DataFrame:
        frame = frame if source in plan.loaded else frame.coalesce(1)
        path = _copied(source, frame, folder, topics.get(source.name))
        return spark.readStream.schema(frame.schema).parquet(path)

    def records(source: KafkaSource) -> TopicFrame:
        mine = topics[source.name]
        if not source.bounded:
            return TopicFrame(spark, mine, starts[source.name], None)
        assert source.until is not None
        begins = mine.offsets(source.start, BEGINNING)
        return TopicFrame(spark, mine, begins, mine.offsets(source.until, END))

    def read(source: Source) -> DataFrame | TopicFrame:
        match source:
            case FilesSource(bounded=True) if streaming:
                return as_stream(source, _files(spark, plan, source, False))
            case FilesSource():
                return _files(spark, plan, source, streaming)
            case FrameSource():
                frame: DataFrame = source.frame
                if streaming and not frame.isStreaming:
                    return as_stream(source, frame)
                return frame
            case RowsSource():
                frame = _rows(spark, source)
                return as_stream(source, frame) if streaming else frame
            case KafkaSource(bounded=True) if streaming:
                return as_stream(source, with_all_columns(records(source)).loaded())
            case KafkaSource():
                return records(source)
            case SocketSource():
                return lines_sent(spark, source)
            case RateSource():
                ticks = spark.readStream.format("rate")
                ticks = ticks.option("numPartitions", file_tasks[TASKS]) if file_tasks else ticks
                return ticks.option("rowsPerSecond", source.rows_per_second).load()
        raise unknown_kind(source)

    return read


def _files(spark: SparkSession, plan: Physical, source: FilesSource, streaming: bool) -> DataFrame:
    reading = (spark.readStream if streaming else spark.read).format(source.format)
    options = source.options
    if source in plan.loaded:
        reading = reading.format("binaryFile").schema(NAMES)
        options = listing_options(options)
    elif source.format != "text":
        reading = reading.schema(str(source.schema))
    for name, value in options:
        reading = reading.option(name, value)
    if streaming and source.max_files_per_batch is not None:
        reading = reading.option("maxFilesPerTrigger", source.max_files_per_batch)
    frame = reading.load(source.path)
    return frame.select(*named(plan.opens(source))) if source in plan.loaded else frame


def _rows(spark: SparkSession, source: RowsSource) -> DataFrame:
    schema = struct_of(str(source.schema))
    with fitting("a row", source.schema, source.name):
        table = pa.Table.from_pylist(list(source.rows), arrow_of(schema))
    return spark.createDataFrame(table, schema)


def folder_name(name: str) -> str:
    """A folder for a name that may be anything: to Spark ``*`` is any text, and ``..`` leads out.

    >>> folder_name("scores"), folder_name("../Größe [1]")
    ('scores', '---Gr--e--1--d04dec4e')
    """
    plain = re.sub("[^A-Za-z0-9-]", "-", name)
    return plain if plain == name else f"{plain}-{hashlib.sha256(name.encode()).hexdigest()[:8]}"


def _copied(source: Source, frame: DataFrame, folder: str | None, topics: Topics | None) -> str:
    """Where the rows of a source that ends are kept as files."""
    path = f"{folder}/{folder_name(source.name)}"
    place = Folder.of(source.name, path)
    with place.errors():
        # A job that is resumed has written them before, and read them, too. Without the sign that
        # they are all there, it was killed while it wrote them, and nobody has read any.
        if _WRITTEN not in place.names():
            frame.write.mode("overwrite").parquet(path)
            if topics is not None:
                check_unchanged(topics)
            place.create(_WRITTEN).close()
    return path
