# ruff: noqa: PT028 - test_stream is no test
"""Where a program starts: the sources that its streams come from."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterable, Mapping
from typing import Any, Literal

from millstream.model.arguments import checked_count, one_of
from millstream.model.errors import PlanError, in_step
from millstream.model.time_units import TimeUnit
from millstream.model.watermarks import WatermarkPolicy, ascending
from millstream.plan.build.files import (
    LINES,
    check_read,
    checked_columns,
    checked_format,
    checked_malformed,
    checked_options,
    checked_path,
    file_schema,
)
from millstream.plan.build.frames import checked_frame, frame_schema
from millstream.plan.build.kafka import (
    RECORD,
    checked_position,
    checked_servers,
    checked_topics,
    record_format,
    with_metadata,
)
from millstream.plan.names import automatic_name, checked_name
from millstream.plan.nodes import (
    FilesSource,
    FrameSource,
    KafkaSource,
    OnMalformed,
    RateSource,
    RecordFormat,
    RowsSource,
    SocketSource,
    TestSource,
)
from millstream.plan.targets import FileFormat
from millstream.plan.types.rows import rows_of
from millstream.plan.types.schema import Field, Schema
from millstream.stream import Stream

_TICKS = Schema((Field("timestamp", "TIMESTAMP"), Field("value", "BIGINT")))


def from_rows(
    rows: Iterable[Any],
    schema: Any = None,
    event_time: str | None = None,
    watermark: WatermarkPolicy | None = None,
    name: str | None = None,
    unit: TimeUnit | None = None,
) -> Stream:
    """A bounded stream of the given rows.

    Rows are dicts, tuples in the order of the schema, or dataclass instances, which need no other
    schema. If there is one column, its value alone is a row.

    Numbers of the event time are of ``unit``: ``s`` (the default), ``ms``, ``us`` or ``ns``.

    >>> from_rows(["to", "be"], schema="word string")
    <Stream 'rows-1': word STRING>
    >>> from_rows([{"user": "ann", "at": 1.0}], schema="user string, at double", event_time="at")
    <Stream 'event_time-1': user STRING, at DOUBLE>
    """
    step = _step("rows", name)
    known, made = rows_of(rows, schema, step)
    stream = Stream(RowsSource(step, known, True, made))
    return _timed(stream, event_time, watermark, unit)


def read_files(
    path: str | os.PathLike[str],
    format: FileFormat = "parquet",
    schema: Any = None,
    event_time: str | None = None,
    watermark: WatermarkPolicy | None = None,
    split: str | None = None,
    bounded: bool = False,
    max_files_per_batch: int | None = None,
    options: Mapping[str, Any] | None = None,
    on_malformed: OnMalformed = "reject",
    optional: Iterable[str] = (),
    name: str | None = None,
    unit: TimeUnit | None = None,
) -> Stream:
    """A stream of the rows of files in a folder, and of files that are added to it later.

    The format is parquet, json, csv, or text, whose lines are the column ``value`` and need no
    schema. Parquet files contain their schema, if there are some when the program is built. With
    ``bounded`` the stream ends after the files that exist at the start; ``max_files_per_batch``
    limits the files of a batch of an endless one.

    A line of json or csv that does not fit the schema goes to ``rejected``, with its file and
    number, by the same rules as Kafka records. With ``on_malformed="null"`` Spark's own reader
    reads the files, supports all of its ``options``, and returns null for what it cannot read. A
    column that no file has is an error, unless it is one of those that are ``optional``.

    ``split`` names a column: rows with equal values there form a split, with its own watermark, and
    a window ends when all splits have passed its end. So a split that is behind others is not late.

    Numbers of the event time are of ``unit``: ``s`` (the default), ``ms``, ``us`` or ``ns``.

    >>> import millstream as ms
    >>> ms.read_files(
    ...     "/data/scores", format="json", schema="team string, points int, at timestamp",
    ...     event_time="at", watermark=ms.bounded("30s"))
    <Stream 'event_time-1': team STRING, points INT, at TIMESTAMP>
    >>> ms.read_files("/data/books", format="text", bounded=True)
    <Stream 'files-1': value STRING>
    """
    step = _step("files", name)
    with in_step(step):
        checked = checked_format(format)
        place, given = checked_path(path), checked_options(options)
        if checked == "parquet" and schema is None:
            # Only programs that look into files before they run pay for Arrow and PySpark.
            from millstream.spark.sources.file_columns import parquet_schema

            columns = parquet_schema(place, given)
        else:
            columns = file_schema(checked, schema)
        source = FilesSource(
            step,
            columns,
            bounded=bool(bounded),
            split=_split(split, columns),
            path=place,
            format=checked,
            options=given,
            max_files_per_batch=None
            if max_files_per_batch is None
            else checked_count(max_files_per_batch, "max_files_per_batch", example=100),
            on_malformed=checked_malformed(on_malformed, checked),
            optional=checked_columns(optional, "optional", columns),
        )
        check_read(source)
    return _timed(Stream(source), event_time, watermark, unit)


def read_kafka(
    topics: str | Iterable[str] | None = None,
    schema: Any = None,
    format: RecordFormat | Callable[[dict[str, Any]], Any] | None = None,
    event_time: str | None = None,
    watermark: WatermarkPolicy | None = None,
    start: Any = "earliest",
    until: Any = None,
    metadata: Iterable[str] = (),
    pattern: str | None = None,
    max_per_batch: int | None = None,
    on_data_loss: Literal["fail", "continue"] = "fail",
    servers: str | Iterable[str] | None = None,
    options: Mapping[str, Any] | None = None,
    name: str | None = None,
    unit: TimeUnit | None = None,
) -> Stream:
    """A stream of the records of Kafka topics; each partition has its own watermark.

    ``format`` is the format of the records' values: ``json`` or ``csv`` with the columns of a
    schema, ``text``, ``raw`` (the whole record as columns), or a function that returns a row for
    such a raw record. Records that cannot be decoded go to ``rejected``. ``metadata`` adds columns
    with properties of the record: key, topic, partition, offset, timestamp, headers. Numbers of the
    event time are of ``unit``: ``s`` (the default), ``ms``, ``us`` or ``ns``.

    ``start`` is ``earliest``, ``latest``, an instant, or offsets by partition; it counts when a job
    starts for the first time; a resumed job continues at its last position. With ``until``, which
    takes the same except ``earliest``, the stream is bounded. If retention has removed records
    before they were read, the job fails; with ``on_data_loss="continue"`` it continues, and counts
    them.

    ``servers`` are the brokers; the default is the local ones of this folder if they run, else
    those in the environment variable MILLSTREAM_SERVERS, else local ones of another folder.
    ``options`` are settings of Kafka's client, librdkafka, in its names or in Java's; passwords
    come from ``secret()``.

    >>> import millstream as ms
    >>> ms.read_kafka(
    ...     "scores", schema="team string, points int, at timestamp",
    ...     event_time="at", watermark=ms.bounded("30s", idle="1m"))
    <Stream 'event_time-1': team STRING, points INT, at TIMESTAMP>
    >>> ms.read_kafka("lines", format="text", metadata=["partition", "offset"])
    <Stream 'kafka-1': value STRING, partition INT, offset BIGINT>
    """
    step = _step("kafka", name)
    with in_step(step):
        named, like = checked_topics(topics, pattern)
        chosen, columns = record_format(format, schema)
        if columns is None:
            if metadata:
                raise PlanError(
                    "MS113",
                    "metadata is for records whose values are read: raw ones have all columns",
                    fix="leave metadata out, or say what the values are: format='text'",
                )
            fields, extra = RECORD, RECORD.names
        else:
            asked = [metadata] if isinstance(metadata, str) else list(metadata)
            if event_time in RECORD.names and columns.find(event_time) is None:
                asked.append(event_time)
            fields, extra = with_metadata(columns, asked)
        source = KafkaSource(
            step,
            fields,
            bounded=until is not None,
            split=None,
            format="raw" if callable(chosen) else chosen,
            metadata=extra,
            topics=named,
            pattern=like,
            start=checked_position(start, "start", named),
            until=None if until is None else checked_position(until, "until", named),
            max_per_batch=None
            if max_per_batch is None
            else checked_count(max_per_batch, "max_per_batch", example=100_000),
            on_data_loss=one_of(on_data_loss, "on_data_loss", ("fail", "continue")),
            servers=checked_servers(servers),
            options=checked_options(options),
        )
    stream = Stream(source)
    if callable(chosen):
        stream = stream.map(chosen, schema, on_error="reject")
    return _timed(stream, event_time, watermark, unit)


def read_socket(
    host: str = "localhost", port: int | None = None, name: str | None = None
) -> Stream:
    """An endless stream of the lines that a server sends, as the column ``value``.

    It is for trying things out: lines that were sent before a failure are not sent again. A batch
    reads at most 8 MB; TCP slows the server down if it sends more. If the server closes the
    connection, the job fails after all received lines are processed.

    >>> read_socket("localhost", 9999)
    <Stream 'socket-1': value STRING>
    """
    step = _step("socket", name)
    with in_step(step):
        source = SocketSource(
            step,
            LINES,
            bounded=False,
            split=None,
            host=_host(host),
            port=checked_count(port, "port", example=9999, most=65535),
        )
    return Stream(source)


def read_rate(
    rows_per_second: int = 1,
    event_time: str | None = "timestamp",
    watermark: WatermarkPolicy | None = None,
    name: str | None = None,
) -> Stream:
    """An endless stream of numbers, ``value``, with the time of each, ``timestamp``.

    Its rows are in the order of their times, which is also its default watermark policy.

    >>> read_rate(rows_per_second=10).explain()
    event_time 'event_time-1'
    │    from  timestamp, watermark ascending()
    └─ rate 'rate-1' → timestamp TIMESTAMP, value BIGINT
            makes  10 rows a second
    """
    step = _step("rate", name)
    with in_step(step):
        rate = checked_count(rows_per_second, "rows_per_second", example=10)
        source = RateSource(step, _TICKS, bounded=False, split=None, rows_per_second=rate)
    if event_time is not None and watermark is None:
        watermark = ascending()
    return _timed(Stream(source), event_time, watermark)


def from_dataframe(
    frame: Any,
    event_time: str | None = None,
    watermark: WatermarkPolicy | None = None,
    split: str | None = None,
    name: str | None = None,
    unit: TimeUnit | None = None,
) -> Stream:
    """A stream of the rows of a PySpark DataFrame; it is endless for a streaming DataFrame.

    Numbers of the event time are of ``unit``: ``s`` (the default), ``ms``, ``us`` or ``ns``.

    >>> import millstream as ms
    >>> events = spark.readStream.table("events")  # doctest: +SKIP
    >>> ms.from_dataframe(events, "at", ms.bounded("30s"))  # doctest: +SKIP
    <Stream 'event_time-1': user STRING, at TIMESTAMP>
    """
    step = _step("frame", name)
    with in_step(step):
        columns = frame_schema(checked_frame(frame))
        bounded, by = not frame.isStreaming, _split(split, columns)
        source = FrameSource(step, columns, bounded=bounded, split=by, frame=frame)
    return _timed(Stream(source), event_time, watermark, unit)


def test_stream(
    schema: Any,
    event_time: str | None = None,
    watermark: WatermarkPolicy | None = None,
    name: str | None = None,
    unit: TimeUnit | None = None,
) -> Stream:
    """An endless stream whose rows come from replay steps.

    Numbers of the event time are of ``unit``: ``s`` (the default), ``ms``, ``us`` or ``ns``.

    >>> test_stream("user string, at timestamp", event_time="at", name="clicks")
    <Stream 'event_time-1': user STRING, at TIMESTAMP>
    """
    step = _step("test", name)
    with in_step(step):
        source = TestSource(step, Schema.of(schema), bounded=False)
    return _timed(Stream(source), event_time, watermark, unit)


test_stream.__test__ = False  # type: ignore[attr-defined] # its name starts like a test's


def _step(kind: str, name: str | None) -> str:
    return automatic_name(kind) if name is None else checked_name(name)


def _split(column: str | None, schema: Schema) -> str | None:
    return None if column is None else schema.resolve(str(column)).name


def _host(host: Any) -> str:
    if isinstance(host, str) and host.strip():
        return host
    raise PlanError(
        "MS113", f"host={host!r} is no name of a host", fix="give one, such as 'localhost'"
    )


def _timed(
    stream: Stream,
    column: str | None,
    watermark: WatermarkPolicy | None,
    unit: TimeUnit | None = None,
) -> Stream:
    if column is not None:
        return stream.with_event_time(column, watermark, unit)
    for given, what in ((watermark, "watermark"), (unit, "unit")):
        if given is not None:
            raise PlanError(
                "MS115",
                f"{what}={given!r} has no event time to follow",
                fix="name the column of the event time as well: event_time='at'",
                step=stream.node.name,
            )
    return stream
