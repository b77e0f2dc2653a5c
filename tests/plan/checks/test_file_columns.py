"""MS120: csv holds values without parts, text one column of STRING."""

from __future__ import annotations

import re

import pytest

import millstream as ms
from millstream.stream import Stream

TOTALS = (
    ms.from_rows([], schema="team string, points int, at double", event_time="at")
    .key_by("team")
    .window(ms.fixed("1m"))
    .aggregate(total=ms.sum("points"))
)


def refused(stream: Stream, format: str) -> ms.PlanError:
    with pytest.raises(ms.PlanError) as caught:
        stream.write_files("/data/out", format=format)  # type: ignore[arg-type]
    assert (caught.value.code, caught.value.step) == ("MS120", "write_files-1")
    return caught.value


def of(schema: str) -> Stream:
    return ms.from_rows([], schema=schema)


def test_csv_takes_no_window_and_no_pane() -> None:
    error = refused(TOTALS, "csv")
    assert error.what == "csv files cannot hold 'window' (STRUCT), 'pane' (STRUCT)"
    assert error.fix == (
        "write .select('team', 'total', 'window.start AS start', 'pane.timing AS timing'), "
        "or .drop('window', 'pane'), or format='json'"
    )


@pytest.mark.parametrize(
    "schema",
    [
        "n int, tags array<int>", "n int, m map<string, int>", "n int, b binary",
        "v variant", "s struct<n: int>, n int", "s struct<a: array<int>>, n int",
        "a struct<n: int>, b struct<n: int, m: int>", "`a b` struct<`c d`: int>, n int",
        "tags array<int>, s struct<N: int>, n int",
    ],
)  # fmt: skip
def test_each_way_out_can_be_written_as_it_stands(schema: str) -> None:
    stream = of(schema)
    ways = re.findall(r"\.(?:select|drop)\(.*?\)(?=, or )", refused(stream, "csv").fix)
    assert ways
    for way in ways:
        eval(f"stream{way}", {"stream": stream}).write_files("/data/out", format="csv")


@pytest.mark.parametrize("format", ["parquet", "json"])
def test_parquet_and_json_hold_everything(format: str) -> None:
    TOTALS.write_files("/data/out", format=format)  # type: ignore[arg-type]


def test_text_is_one_column_of_strings() -> None:
    of("line string").write_files("/data/out", format="text")
    of("n int").select(line="session.some_udf(n)").write_files("/data/out", format="text")


@pytest.mark.parametrize(
    ("schema", "what"),
    [("n int", "'n' is INT"), ("tags array<int>", "'tags' is ARRAY<INT>"), ("b binary", "BINARY"),
     ("n int, `a b` string", "there are 2: n, a b")],
)  # fmt: skip
def test_other_columns_are_made_text_first(schema: str, what: str) -> None:
    stream = of(schema)
    error = refused(stream, "text")
    assert error.what.startswith("text files hold one column of STRING, but ")
    assert error.what.endswith(what)
    way = re.findall(r"\.select\(.*\)(?=, or )", error.fix)[0]
    eval(f"stream{way}", {"stream": stream}).write_files("/data/out", format="text")


@pytest.mark.parametrize("type", ["array<int>", "map<string, int>", "struct<n: int>", "variant"])
def test_csv_is_not_read_into_values_with_parts(type: str) -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.read_files("/data", format="csv", schema=f"n int, part {type}")
    assert (caught.value.code, caught.value.step) == ("MS120", "files-1")
    assert "read it as STRING, then .with_columns(part=" in caught.value.fix


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_spark_reads_text_of_a_fixed_length_from_no_file(format: str) -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.read_files("/data", format=format, schema="n int, code char(3)")  # type: ignore[arg-type]
    assert caught.value.code == "MS120"
    assert caught.value.fix == "write STRING: 'code STRING'"


def test_columns_that_name_folders_are_not_in_the_files():
    TOTALS.drop("window", "pane").write_files("/data/out", format="csv", partition_by="team")
    of("day string, line string").write_files("/data/out", format="text", partition_by=["day"])


@pytest.mark.parametrize(
    ("columns", "how", "says"),
    [
        ("a int", {"partition_by": "b"}, "MS102 in step 'write_files-1': there is no column 'b'"),
        (
            "a int, b int",
            {"partition_by": ["b", "A"]},
            "MS113 .*partition_by=.* leaves no column",
        ),
        ("a int, b struct<x: int>", {"partition_by": "b"}, "MS120 in step .*: folders cannot be"),
        ("a int", {"mode": "overwite"}, "MS113 in step .*: mode='overwite' is not a choice"),
    ],
)
def test_folders_and_modes_that_cannot_be_are_refused(columns, how, says):
    with pytest.raises(ms.PlanError, match=says):
        of(columns).write_files("/data/out", **how)


def test_a_struct_cannot_name_folders_but_a_part_of_it_can():
    with pytest.raises(ms.PlanError) as caught:
        TOTALS.write_files("/data/out", partition_by="window")
    way = caught.value.fix.removeprefix("partition by a column made of it: ")
    assert way == ".with_columns(part='window.start')"
    eval(f"TOTALS{way}").write_files("/data/out", partition_by="part")
