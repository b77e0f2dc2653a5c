"""Files that are not what the program says: found before a job reads them."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from pyspark.sql import SparkSession

import millstream as ms
from millstream.model.errors import RunError
from millstream.plan.nodes import FilesSource
from millstream.spark.sources.file_columns import check_files

DDL = "usr string, points int"
ROWS = [{"user": "ann", "points": 3}, {"user": "bob", "points": None, "more": 1}]


def put(folder: Path, format: str, name: str = "1", rows: list[dict] = ROWS) -> None:
    folder.mkdir(exist_ok=True)
    file = folder / f"{name}.{format}"
    if format == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), file)
    elif format == "json":
        file.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    else:
        lines = [",".join(rows[0]), *(f"{row['user']},{row['points'] or ''}" for row in rows)]
        file.write_text("\n".join(lines))


def checked(folder: Path | str, format: Any, ddl: str = DDL, **options: Any) -> bool:
    """Whether there was something to check."""
    header = {"options": {"header": True}} if format == "csv" else {}
    node = ms.read_files(folder, format, ddl, name="in", **{**header, **options}).node
    assert isinstance(node, FilesSource)
    return not check_files([node])


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_a_column_that_no_file_has_is_an_error_with_a_suggestion(
    tmp_path: Path, format: Any
) -> None:
    put(tmp_path, format)
    with pytest.raises(RunError) as error:
        checked(tmp_path, format)
    what = {"json": "record", "csv": "header"}.get(format, "file")
    known = "user, points" if format != "json" else "user, points, more"
    assert str(error.value) == (
        f"MS213 in step 'in': no {what} of the {format} files in {tmp_path} has a column 'usr'\n"
        f"  What to do: did you mean 'user'? There are: {known}. "
        "If files may do without it: optional=['usr']\n"
        "  More: millstream help MS213"
    )
    assert checked(tmp_path, format, "user string, points int")
    assert checked(tmp_path, format, DDL, optional=["usr"])
    # One file that has it is enough, and so is a folder.
    put(tmp_path, format, "2", [{"user": "x", "points": 1, "usr": "y"}])
    assert checked(tmp_path, format)
    assert checked(tmp_path, format, "user string, more int", optional="more")


def test_a_folder_may_say_the_column(tmp_path: Path) -> None:
    put(tmp_path / "usr=ann", "json")
    assert checked(tmp_path, "json")
    with pytest.raises(RunError, match="MS213"):
        checked(tmp_path / "usr=ann", "json")


def test_names_of_json_are_case_sensitive_and_others_are_not(tmp_path: Path) -> None:
    put(tmp_path, "csv")
    put(tmp_path, "parquet")
    put(tmp_path, "json")
    only: dict[str, Any] = {"pathGlobFilter": "*.parquet"}
    assert checked(tmp_path, "parquet", "USER string", options=only)
    only = {"pathGlobFilter": "*.csv", "header": True}
    assert checked(tmp_path, "csv", "USER string", options=only)
    with pytest.raises(RunError, match="did you mean 'user'|use one of: user"):
        checked(tmp_path, "json", "USER string", options={"pathGlobFilter": "*.json"})


def test_where_nothing_says_names_nothing_is_checked(tmp_path: Path) -> None:
    assert not checked(tmp_path, "json")
    (tmp_path / "1.json").write_text("\n\n")
    (tmp_path / "_hidden.json").write_text('{"x": 1}')
    assert not checked(tmp_path, "json")
    (tmp_path / "2.json").write_text("nonsense\n")
    assert not checked(tmp_path, "json")
    (tmp_path / "3.csv").write_text("ann,3\n")
    assert checked(tmp_path, "csv", options={"pathGlobFilter": "*.csv"})


def test_a_column_of_another_type_is_an_error_before_the_job_starts(tmp_path: Path) -> None:
    put(tmp_path, "parquet")
    with pytest.raises(RunError) as error:
        checked(tmp_path, "parquet", "user int, points int")
    file = tmp_path / "1.parquet"
    assert str(error.value) == (
        f"MS214 in step 'in': the file {file} has STRING in column 'user', "
        "and the schema says INT\n"
        "  What to do: give 'user' in the schema the type that it has in the file, and convert it "
        "in with_columns(…); or take away a file that is not of this data\n"
        "  More: millstream help MS214"
    )


def test_a_path_where_nothing_is_is_an_error_that_knows_close_names(tmp_path: Path) -> None:
    (tmp_path / "scores").mkdir()
    for endless in (True, False):
        with pytest.raises(RunError) as error:
            checked(tmp_path / "scroes" / "new", "json", bounded=not endless)
        assert str(error.value) == (
            f"MS215 in step 'in': there is no file or folder '{tmp_path}/scroes/new': "
            f"'{tmp_path}' has no 'scroes'\n"
            f"  What to do: did you mean '{tmp_path}/scores'? Else make the folder before the job "
            f"starts: mkdir -p {tmp_path}/scroes/new\n"
            "  More: millstream help MS215"
        )
    with pytest.raises(RunError, match="MS215 in step 'in': nothing fits the pattern .*scores"):
        checked(tmp_path / "*.json", "json", bounded=True)
    # To a pattern that is read without end, files may come.
    assert not checked(tmp_path / "*.json", "json")
    with pytest.raises(RunError, match="MS215"):
        checked(tmp_path / "nothing" / "*.json", "json")


def test_parquet_files_say_their_schema(tmp_path: Path) -> None:
    for number, day in enumerate(["2024-05-01", "2024-05-02"]):
        folder = tmp_path / f"day={day}" / f"n={number}"
        folder.mkdir(parents=True)
        row: dict[str, Any] = {"user": "ann", "inner": {"aB": [1]}}
        put(folder, "parquet", rows=[row if number else {**row, "old": 1.5}])
        os.utime(folder / "1.parquet", (number, number))
    stream = ms.read_files(tmp_path)
    assert str(stream.schema) == (
        "user STRING, inner STRUCT<aB: ARRAY<BIGINT>>, old DOUBLE, day DATE, n INT"
    )
    (tmp_path / "empty").mkdir()
    with pytest.raises(ms.PlanError, match="MS111 in step 'files-1': .* there is no file yet"):
        ms.read_files(tmp_path / "empty")
    with pytest.raises(ms.PlanError, match="MS111 in step 'files-1': .* does not see them"):
        ms.read_files("s3a://bucket/x")
    with pytest.raises(RunError, match="MS215 in step 'files-1'"):
        ms.read_files(tmp_path / "nothing")
    put(tmp_path, "parquet", rows=[{"user": 5}])
    with pytest.raises(RunError, match="MS214 in step 'files-1': .* no schema in common"):
        ms.read_files(tmp_path)


# On Spark.


def test_a_job_fails_with_these_errors(spark: SparkSession, tmp_path: Path) -> None:
    def failed(path: Path | str, ddl: str, **options: Any) -> RunError:
        stream = ms.read_files(path, schema=ddl, **options)
        with pytest.raises(RunError) as error:
            stream.collect().run("fails", spark=spark).process_all()
        return error.value

    put(tmp_path / "in", "parquet")
    assert failed(tmp_path / "in", DDL, bounded=True).code == "MS213"
    assert failed(tmp_path / "in", "user int").code == "MS214"
    # What only Spark finds, when it reads.
    os.utime(tmp_path / "in" / "1.parquet", (0, 0))
    put(tmp_path / "in", "parquet", "2", [{"user": "x", "points": 2**40}])
    error = failed(tmp_path / "in", "points int", bounded=True)
    assert re.fullmatch(
        f"the file {tmp_path}/in/[12].parquet has parquet's INT64 in column 'points', "
        "and the schema says INT",
        error.what,
    )
    assert error.code == "MS214"
    error = failed(tmp_path / "in", "points int")
    assert error.code == "MS214"
    assert "2.parquet has BIGINT in column 'points', and the schema says INT: " in error.what
    assert failed(tmp_path / "nothing", "points int").code == "MS215"
    error = failed(f"{tmp_path}/{{a,b}}", "points int", bounded=True)
    assert error.code == "MS215"


def test_a_folder_that_is_empty_at_first_is_checked_with_its_first_files(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "in").mkdir()
    job = ms.read_files(tmp_path / "in", "json", DDL).collect().run("late", spark=spark)
    job.process_all()
    put(tmp_path / "in", "json")
    with pytest.raises(RunError, match="MS213"):
        job.process_all()
