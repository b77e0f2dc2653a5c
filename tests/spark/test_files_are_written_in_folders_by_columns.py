"""Files in folders by the values of columns, beside those of Spark; and batches that run again."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

import millstream as ms

COLUMNS = "s string, i int, b boolean, d date, t timestamp, x decimal(9,2), n int"
ROWS = [
    ("red", 1, True, "2024-02-29", "2024-02-29 12:30:00", "1.50"),
    ("a/b=c?#%", -7, False, "1969-12-31", "1969-12-31 23:59:59.25", "0.00"),
    ("tab\t[x] {y} ^ ' \" * \\ :", 0, None, None, None, None),
    ("größe ü", None, True, "2024-02-29", "2024-02-29 00:00:00.000001", "-12.34"),
    ("", 5, False, "2026-11-17", "2026-11-17 00:00:00", "7.00"),
    (None, 5, False, "2026-11-17", "2026-11-17 00:00:00", "7.00"),
]


def folders(root: Path) -> list[str]:
    files = [file for file in root.rglob("part-*") if "_millstream" not in file.parts]
    return sorted({str(file.parent.relative_to(root)) for file in files})


def test_partitioned_files_are_named_and_read_as_those_of_spark(spark, tmp_path):
    frame = spark.createDataFrame(
        [(*row, n) for n, row in enumerate(ROWS)],
        "s string, i int, b boolean, d string, t string, x string, n int",
    ).selectExpr(
        "s",
        "i",
        "b",
        "cast(d as date) d",
        "cast(t as timestamp) t",
        "cast(x as decimal(9,2)) x",
        "n",
    )
    columns = ["s", "i", "b", "d", "t", "x"]
    frame.coalesce(1).write.partitionBy(*columns).parquet(str(tmp_path / "spark"))
    stream = ms.from_dataframe(frame)
    stream.write_files(tmp_path / "ours", partition_by=columns).run("p", spark=spark)
    assert folders(tmp_path / "ours") == folders(tmp_path / "spark")
    read = [spark.read.parquet(str(tmp_path / name)) for name in ("ours", "spark")]
    assert read[0].schema == read[1].schema
    assert sorted(map(str, read[0].collect())) == sorted(map(str, read[1].collect()))
    polars = pl.read_parquet(tmp_path / "ours", hive_partitioning=True)
    assert sorted(polars["n"]) == list(range(len(ROWS)))


def test_a_batch_that_runs_again_is_refused_or_adds_or_replaces(spark, tmp_path):
    def run(*numbers: int, **how) -> list[int]:
        rows = ms.from_rows([(n,) for n in numbers], "n int")
        rows.write_files(tmp_path / "out", "json", **how).run("again", spark=spark)
        return sorted(r.n for r in spark.read.json(str(tmp_path / "out")).collect())

    assert run(1, 2) == [1, 2]
    with pytest.raises(ms.MillstreamError, match="MS212 in step 'write_files-1'"):
        run(1, 2)
    with pytest.raises(ms.MillstreamError, match="MS212"):
        ms.from_rows([(1,)], "n int").write_files(tmp_path / "out", "json").run(
            "again", spark=spark, mode="streaming"
        )
    assert run(3, mode="append") == [1, 2, 3]

    def fails(row):
        raise ValueError(row["n"])

    failing = ms.from_rows([(8,), (9,)], "n int").map(fails, "n int")
    with pytest.raises(ms.MillstreamError, match="MS201"):
        failing.write_files(tmp_path / "out", "json", mode="overwrite").run("f", spark=spark)
    assert run(4, mode="append") == [1, 2, 3, 4]
    assert run(7, mode="overwrite") == [7]
