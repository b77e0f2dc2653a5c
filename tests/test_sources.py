"""Sources: what a program starts from, each with its columns, its end and its splits."""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from pyspark.sql import types as spark_types

import millstream as ms
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    FrameSource,
    RateSource,
    RowsSource,
    SocketSource,
    TestSource,
)
from millstream.sources import test_stream
from millstream.testing import Elements, Watermark, replay

SCHEMA = "device string, points int, at timestamp"


class DataFrame:
    """As much of PySpark's as a plan looks at; a real one takes a running Spark."""

    def __init__(self, schema: spark_types.StructType, streaming: bool = False) -> None:
        self.schema = schema
        self.isStreaming = streaming


DataFrame.__module__ = "pyspark.sql.classic.dataframe"


def frame(streaming: bool = False, **columns: spark_types.DataType) -> DataFrame:
    fields = [spark_types.StructField(name, type) for name, type in columns.items()]
    return DataFrame(spark_types.StructType(fields), streaming)


def raises(code: str, step: str) -> Any:
    return pytest.raises(ms.PlanError, match=f"^{code} in step '{step}'")


def test_an_event_time_is_a_step_after_the_source() -> None:
    stream = ms.from_rows([], schema="At date", event_time="at", watermark=ms.ascending(), name="a")
    node = stream.node
    assert isinstance(node, EventTime)
    assert (node.column, node.watermark) == ("At", ms.ascending())
    assert isinstance(node.input, RowsSource)
    assert (node.input.name, node.input.bounded) == ("a", True)


def test_a_test_stream_is_endless() -> None:
    node = test_stream({"n": int}, name="numbers").node
    assert isinstance(node, TestSource)
    assert (node.name, node.bounded) == ("numbers", False)
    with raises("MS111", "test-1"):
        test_stream("n itn")


def test_files_are_read_without_end_by_default() -> None:
    node = ms.read_files(Path("/data/scores"), schema=SCHEMA).node
    assert isinstance(node, FilesSource)
    assert (node.name, node.path, node.format) == ("files-1", "/data/scores", "parquet")
    assert (node.bounded, node.split, node.options) == (False, None, ())
    assert node.max_files_per_batch is None


def test_files_take_options_splits_and_an_end() -> None:
    stream = ms.read_files(
        "/data/scores", format="csv", schema=SCHEMA, name="scores",
        event_time="at", watermark=ms.ascending(), split="DEVICE",
        bounded=True, max_files_per_batch=5, options={"header": True},
    )  # fmt: skip
    assert isinstance(stream.node, EventTime)
    node = stream.node.input
    assert isinstance(node, FilesSource)
    assert (node.name, node.format, node.bounded, node.split) == ("scores", "csv", True, "device")
    assert (node.options, node.max_files_per_batch) == ((("header", "true"),), 5)


@pytest.mark.parametrize(
    ("wrong", "code"),
    [
        ({"format": "orc"}, "MS113"),
        ({"format": "json", "schema": None}, "MS111"),
        ({"schema": "n itn"}, "MS111"),
        ({"split": "devcie"}, "MS102"),
        ({"path": ""}, "MS113"),
        ({"options": "header"}, "MS113"),
        ({"max_files_per_batch": 0}, "MS113"),
        ({"max_files_per_batch": True}, "MS113"),
        ({"watermark": ms.ascending()}, "MS115"),
        ({"format": "json", "on_malformed": "drop"}, "MS113"),
        ({"format": "parquet", "on_malformed": "null"}, "MS113"),
        ({"format": "json", "options": {"header": True}}, "MS113"),
        ({"format": "csv", "options": {"header": "yes"}}, "MS113"),
        ({"format": "csv", "options": {"sep": "::"}}, "MS113"),
        ({"format": "json", "options": {"encoding": "utf-7.5"}}, "MS113"),
        ({"format": "json", "schema": "n map<int, string>"}, "MS111"),
    ],
)
def test_errors_of_files_name_their_step(wrong: dict[str, Any], code: str) -> None:
    with raises(code, "files-1"):
        ms.read_files(**{"path": "/data", "schema": SCHEMA, **wrong})


def test_an_option_of_sparks_own_reader_is_an_error_unless_that_reads_the_lines() -> None:
    with pytest.raises(ms.PlanError) as error:
        ms.read_files("/data", "csv", SCHEMA, options={"mode": "FAILFAST"})
    assert error.value.what == (
        "csv files whose malformed lines are rejected have no option 'mode'"
    )
    assert "With on_malformed='null', Spark's own reader takes all" in error.value.fix
    with pytest.raises(ms.PlanError, match="did you mean 'header'"):
        ms.read_files("/data", "csv", SCHEMA, options={"heder": True})
    assert ms.read_files("/data", "csv", SCHEMA, options={"mode": "FAILFAST"}, on_malformed="null")
    known = {
        "Header": True,
        "delimiter": "\\t",
        "pathGlobFilter": "*.csv",
        "fs.s3a.secret.key": "x",
    }
    assert ms.read_files("/data", "csv", SCHEMA, options=known)


def test_a_socket_gives_lines_without_end() -> None:
    node = ms.read_socket(port=9999).node
    assert isinstance(node, SocketSource)
    assert (node.host, node.port, node.bounded, node.split) == ("localhost", 9999, False, None)
    assert str(node.schema) == "value STRING"


@pytest.mark.parametrize("where", [(), ("localhost", 0), ("localhost", 65536), ("", 99), (5, 99)])
def test_a_socket_needs_a_host_and_a_port(where: tuple[Any, ...]) -> None:
    with raises("MS113", "socket-1"):
        ms.read_socket(*where)


def test_a_rate_has_event_times_that_ascend() -> None:
    node = ms.read_rate(rows_per_second=5).node
    assert isinstance(node, EventTime)
    assert (node.column, node.watermark) == ("timestamp", ms.ascending())
    assert isinstance(node.input, RateSource)
    assert (node.input.rows_per_second, node.input.bounded) == (5, False)
    assert str(node.schema) == "timestamp TIMESTAMP, value BIGINT"


def test_a_rate_takes_another_policy_or_no_event_time() -> None:
    node = ms.read_rate(watermark=ms.bounded("5s")).node
    assert isinstance(node, EventTime)
    assert node.watermark == ms.bounded("5s")
    assert isinstance(ms.read_rate(event_time=None).node, RateSource)
    with raises("MS113", "rate-1"):
        ms.read_rate(0)


def test_a_dataframe_provides_its_columns() -> None:
    inner = spark_types.StructType([
        spark_types.StructField("a b", spark_types.IntegerType()),
        spark_types.StructField("end", spark_types.ArrayType(spark_types.StringType())),
    ])  # fmt: skip
    given = frame(
        id=spark_types.LongType(),
        price=spark_types.DecimalType(10, 2),
        inner=inner,
        by=spark_types.MapType(spark_types.StringType(), inner),
        at=spark_types.TimestampType(),
    )
    struct = "STRUCT<`a b`: INT, end: ARRAY<STRING>>"
    assert str(ms.from_dataframe(given).schema) == (
        f"id BIGINT, price DECIMAL(10, 2), inner {struct}, by MAP<STRING, {struct}>, at TIMESTAMP"
    )


@pytest.mark.parametrize("streaming", [True, False])
def test_a_dataframe_is_endless_if_it_is_streaming(streaming: bool) -> None:
    given = frame(streaming, at=spark_types.DateType(), k=spark_types.StringType())
    stream = ms.from_dataframe(
        given, event_time="at", watermark=ms.ascending(), split="k", name="events"
    )
    assert isinstance(stream.node, EventTime)
    node = stream.node.input
    assert isinstance(node, FrameSource)
    assert node.frame is given
    assert (node.name, node.bounded, node.split) == ("events", not streaming, "k")


@pytest.mark.parametrize(
    "type",
    [
        spark_types.NullType(), spark_types.StringType("UTF8_LCASE"),
        spark_types.ArrayType(spark_types.NullType()), spark_types.StructType([]),
    ],
)  # fmt: skip
def test_an_unknown_type_is_an_error_with_its_column(
    type: spark_types.DataType,
) -> None:
    with raises("MS111", "frame-1") as caught:
        ms.from_dataframe(frame(n=spark_types.IntegerType(), odd=type))
    spark_text = type.simpleString().upper()
    assert caught.value.what.startswith(f"column 'odd' of the DataFrame is {spark_text}, a type ")
    assert "frame.drop('odd')" in caught.value.fix


def test_two_columns_of_a_dataframe_that_differ_by_case_are_errors() -> None:
    with raises("MS111", "frame-1"):
        ms.from_dataframe(frame(n=spark_types.IntegerType(), N=spark_types.IntegerType()))


def test_what_is_no_dataframe_of_spark_is_an_error() -> None:
    with raises("MS113", "frame-1") as caught:
        ms.from_dataframe([("ann", 3)])
    assert caught.value.what.endswith("takes a DataFrame of PySpark, not [('ann', 3)]")
    foreign = type("DataFrame", (), {"__module__": "pandas"})()
    with raises("MS113", "frame-1") as caught:
        ms.from_dataframe(foreign)
    assert caught.value.what.endswith("takes a DataFrame of PySpark, not one of pandas")


def test_a_program_over_files_is_replayed_with_steps_in_their_place() -> None:
    scores = ms.read_files("/data", schema=SCHEMA, event_time="at", watermark=ms.bounded("30s"))
    totals = scores.key_by("device").window(ms.fixed("1m")).aggregate(total=ms.sum("points"))
    at = datetime(1970, 1, 1, 0, 0, 10, tzinfo=UTC)
    rows = [{"device": "a", "points": n, "at": at} for n in (3, 4)]
    (pane,) = replay(totals, steps=[Elements(rows), Watermark(60)])
    assert (pane.key, pane.window, pane.value, pane.timing) == ("a", (0, 60), 7, "ON_TIME")
