"""How a program speaks of files: paths, formats, options, columns."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

import millstream as ms
from millstream.plan.build.files import checked_options, checked_path, file_schema


@dataclass
class Score:
    user: str
    points: int


def test_a_relative_path_is_made_absolute_where_the_program_is_written(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked_path("scores") == str(tmp_path / "scores")
    assert checked_path(Path("scores", "*.json")) == str(tmp_path / "scores" / "*.json")
    assert checked_path("../scores") == str(tmp_path.parent / "scores")


@pytest.mark.parametrize(
    "path", ["/data/scores", "s3a://bucket/scores", "hdfs://host:9000/scores", "file:/data/scores"]
)
def test_a_path_that_is_whole_stays_as_it_is(path: str) -> None:
    assert checked_path(path) == path


def test_a_colon_alone_is_no_scheme(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    assert checked_path("at:12:00") == str(tmp_path / "at:12:00")


@pytest.mark.parametrize("path", ["", "  ", None, 5, b"/data", ["/a", "/b"]])
def test_what_is_no_path_is_refused(path: Any) -> None:
    with pytest.raises(ms.PlanError, match="MS113.*is no path"):
        checked_path(path)


def test_options_are_texts_as_spark_reads_them() -> None:
    given = {"header": True, "multiLine": False, "sep": ";", "maxColumns": 5, "samplingRatio": 0.5}
    assert dict(checked_options(given)) == {
        "header": "true", "multiLine": "false", "sep": ";", "maxColumns": "5",
        "samplingRatio": "0.5",
    }  # fmt: skip
    assert checked_options(None) == checked_options({}) == ()


@pytest.mark.parametrize("options", [["header"], "header", {1: "a"}, {"header": None}, {"a": [1]}])
def test_other_options_are_refused(options: Any) -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        checked_options(options)


@pytest.mark.parametrize("options", [[("sasl.password", "secret")], {"sasl.password": b"secret"}])
def test_what_is_refused_is_not_told_for_it_may_be_a_secret(options: Any) -> None:
    with pytest.raises(ms.PlanError, match="MS113") as caught:
        checked_options(options)
    assert "secret" not in str(caught.value)


def test_a_schema_is_given_in_every_way_that_schemas_are() -> None:
    assert str(file_schema("parquet", "user string")) == "user STRING"
    assert str(file_schema("csv", Score)) == "user STRING, points BIGINT"


def test_text_has_one_column_and_takes_no_schema() -> None:
    assert str(file_schema("text", None)) == "value STRING"
    with pytest.raises(ms.PlanError, match="MS113.*text files have one column, value STRING"):
        file_schema("text", "value string")


@pytest.mark.parametrize("format", ["parquet", "json", "csv"])
def test_the_other_formats_need_a_schema(format: Any) -> None:
    with pytest.raises(ms.PlanError, match=f"MS111.*what columns the {format} files have"):
        file_schema(format, None)
