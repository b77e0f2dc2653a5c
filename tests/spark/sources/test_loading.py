"""Parquet files that Python reads itself: it must find in them what Spark would."""

from __future__ import annotations

import datetime as dt
from decimal import Decimal
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import millstream as ms
from bags import bag
from millstream.engine.python_rows import python_rows
from millstream.model.errors import RunError
from millstream.physical.plan import physical
from millstream.spark.driver.session import sees_files
from millstream.spark.sources.loading import depth, loaded
from millstream.spark.types import arrow_of, struct_of

DDL = (
    "whole bigint, small int, real double, text string, raw binary, yes boolean, day date, "
    "at timestamp, price decimal(10,2), many array<bigint>, pair struct<a: bigint, b: string>"
)
INSTANT = dt.datetime(2026, 11, 16, 12, 30, 15, 123456, dt.UTC)
ROW: dict[str, Any] = {
    "whole": 2**40,
    "small": -7,
    "real": 0.5,
    "text": "Größe ✓",
    "raw": b"\x00\xff",
    "yes": True,
    "day": dt.date(1969, 12, 31),
    "at": INSTANT,
    "price": Decimal("-12.30"),
    "many": [1, None, 3],
    "pair": {"a": 1, "b": None},
}


def as_table(rows: list[dict], ddl: str) -> pa.Table:
    return pa.Table.from_pylist(rows, arrow_of(struct_of(ddl)))


def by_arrow(folder: Path, ddl: str) -> list[dict]:
    files = sorted(folder.rglob("*.parquet"))
    below, schema = depth(str(folder)), arrow_of(struct_of(ddl))
    tables = [t for file in files for t in loaded("source", f"file:{file}", below, schema)]
    return [row for table in tables for row in python_rows(table)]


def by_spark(spark: SparkSession, folder: Path, ddl: str) -> list[dict]:
    table = spark.read.schema(ddl).parquet(str(folder)).toArrow()
    return python_rows(table.cast(arrow_of(struct_of(ddl))))


def same(spark: SparkSession, folder: Path, ddl: str) -> list[dict]:
    """What both have found."""
    found = by_arrow(folder, ddl)
    assert bag(found) == bag(by_spark(spark, folder, ddl))
    return found


def test_rows_of_all_types(spark: SparkSession, tmp_path: Path) -> None:
    table = as_table([ROW, dict.fromkeys(ROW), {**ROW, "real": float("inf")}], DDL)
    pq.write_table(table, tmp_path / "1.parquet")
    assert same(spark, tmp_path, DDL)[0] == ROW


def test_files_that_spark_has_written(spark: SparkSession, tmp_path: Path) -> None:
    frame = spark.createDataFrame(as_table([ROW] * 3, DDL), struct_of(DDL))
    frame.write.parquet(str(tmp_path / "new"))
    assert len(same(spark, tmp_path / "new", DDL)) == 3


@pytest.mark.parametrize(
    ("kind", "values", "ddl"),
    [
        (pa.int32(), [1, None, -5], "v bigint"),
        (pa.int8(), [1, None, -5], "v int"),
        (pa.float32(), [0.5, None], "v double"),
        (pa.int32(), [1, None], "v double"),
        (pa.decimal128(5, 1), [Decimal("1.5"), None], "v decimal(10,2)"),
        (pa.dictionary(pa.int32(), pa.string()), ["a", None, "a"], "v string"),
        (pa.large_string(), ["a", None], "v string"),
        (pa.timestamp("ms", "UTC"), [INSTANT.replace(microsecond=0), None], "v timestamp"),
        (pa.timestamp("us"), [INSTANT.replace(tzinfo=None)], "v timestamp"),
        (pa.timestamp("us", "Europe/Berlin"), [INSTANT, None], "v timestamp"),
    ],
    ids=lambda each: each if isinstance(each, str) else None,
)
def test_types_that_the_program_says_otherwise(
    spark: SparkSession, tmp_path: Path, kind: pa.DataType, values: list, ddl: str
) -> None:
    pq.write_table(pa.table({"v": pa.array(values, kind)}), tmp_path / "1.parquet")
    assert len(same(spark, tmp_path, ddl)) == len(values)


def test_instants_of_96_bits(spark: SparkSession, tmp_path: Path) -> None:
    table = pa.table({"v": pa.array([INSTANT, dt.datetime(1, 1, 2, tzinfo=dt.UTC)])})
    pq.write_table(table, tmp_path / "1.parquet", use_deprecated_int96_timestamps=True)
    assert same(spark, tmp_path, "v timestamp")[0]["v"] == INSTANT


def test_columns_that_a_file_lacks_or_has_besides(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"A": [1, 2], "more": ["x", "y"]}), tmp_path / "1.parquet")
    pq.write_table(pa.table({"b": ["z"]}), tmp_path / "2.parquet")
    found = same(spark, tmp_path, "a bigint, b string")
    assert found == [{"a": 1, "b": None}, {"a": 2, "b": None}, {"a": None, "b": "z"}]


def test_a_file_without_rows(spark: SparkSession, tmp_path: Path) -> None:
    pq.write_table(pa.table({"a": pa.array([], pa.int64())}), tmp_path / "1.parquet")
    assert same(spark, tmp_path, "a bigint") == []


def test_columns_that_folders_say(spark: SparkSession, tmp_path: Path) -> None:
    for day, team in [("2026-11-16", "a%2Fb"), ("2026-11-17", "__HIVE_DEFAULT_PARTITION__")]:
        folder = tmp_path / f"day={day}" / f"team={team}"
        folder.mkdir(parents=True)
        pq.write_table(pa.table({"n": [1, 2]}), folder / "1.parquet")
    ddl = "n bigint, day date, team string"
    assert same(spark, tmp_path, ddl)[0] == {"n": 1, "day": dt.date(2026, 11, 16), "team": "a/b"}
    # A folder that the program names itself says nothing.
    found = same(spark, tmp_path / "day=2026-11-16", ddl)
    assert found[0] == {"n": 1, "day": None, "team": "a/b"}


def test_names_that_are_unusual(spark: SparkSession, tmp_path: Path) -> None:
    folder = tmp_path / "a b %41 é"
    folder.mkdir()
    pq.write_table(pa.table({"x.y": [1], "Ünï": ["ö"]}), folder / "1 %2F.parquet")
    assert same(spark, folder, "`x.y` bigint, `Ünï` string") == [{"x.y": 1, "Ünï": "ö"}]


@pytest.mark.parametrize(
    ("made", "ddl", "why"),
    [
        (
            pa.table({"v": ["1"]}),
            "v bigint",
            "has STRING in column 'v', and the schema says BIG",
        ),
        (pa.table({"v": [1]}), "v string", "has BIGINT in column 'v', and the schema says STR"),
        (pa.table({"v": [2**40]}), "v int", "not in range"),
        (None, "v int", "Parquet"),
    ],
)
def test_files_that_are_not_as_the_program_says(
    spark: SparkSession, tmp_path: Path, made: pa.Table | None, ddl: str, why: str
) -> None:
    file = tmp_path / "1.parquet"
    if made is None:
        file.write_bytes(b"PAR1 and no more")
    else:
        pq.write_table(made, file)
    with pytest.raises(RunError, match=why) as error:
        by_arrow(tmp_path, ddl)
    assert error.value.code == ("MS202" if made is None else "MS214")
    assert str(file) in str(error.value)


def program(path: Path | str, **options: Any) -> Any:
    return ms.read_files(
        str(path),
        schema="team string, at double",
        event_time="at",
        watermark=ms.bounded("5s"),
        **options,
    )


def scores(rows: Any) -> Any:
    return rows.key_by("team").window(ms.fixed("10s")).aggregate(n=ms.count())


def test_who_reads_what(tmp_path: Path) -> None:
    def loads(stream: Any) -> bool:
        return bool(physical(stream.collect().sinks).loaded)

    assert loads(scores(program(tmp_path, format="parquet")))
    assert not loads(scores(program(tmp_path, format="json", on_malformed="null")))
    assert not loads(scores(program(tmp_path, format="parquet", bounded=True)))
    assert not loads(scores(program("s3://bucket/x", format="parquet")))
    assert not loads(scores(program(tmp_path, format="parquet", options={"mergeSchema": "true"})))
    # Spark computes what is said in SQL: it reads the rows, or they would go to and fro.
    assert not loads(scores(program(tmp_path, format="parquet").filter("at > 1")))


def test_a_job_that_reads_files_itself(spark: SparkSession, tmp_path: Path) -> None:
    assert sees_files(spark)
    (tmp_path / "in").mkdir()
    rows = {"team": ["red", "blue", None, "red"], "at": [1.0, 2.0, 3.0, None]}
    pq.write_table(pa.table(rows), tmp_path / "in" / "1.parquet")
    counts = scores(program(tmp_path / "in", format="parquet")).collect()
    assert physical(counts.sinks).loaded
    job = counts.run("job", checkpoint=str(tmp_path / "ck"), spark=spark)
    job.process_all()
    pq.write_table(pa.table({"team": ["red"], "at": [100.0]}), tmp_path / "in" / "2.parquet")
    job.process_all()
    progress = job.progress()
    job.stop()
    assert bag((r["team"], r["n"]) for r in job.rows()) == bag([("red", 1), ("blue", 1), (None, 1)])
    assert (progress.rows, progress.rejected) == (5, 1)


def test_a_job_that_meets_a_file_that_is_none(spark: SparkSession, tmp_path: Path) -> None:
    (tmp_path / "in").mkdir()
    (tmp_path / "in" / "1.parquet").write_text("no parquet")
    rows = scores(program(tmp_path / "in", format="parquet")).collect()
    job = rows.run("bad", checkpoint=str(tmp_path / "ck"), spark=spark)
    with pytest.raises(RunError, match=r"MS202 in step .*1\.parquet cannot be read"):
        job.process_all()
