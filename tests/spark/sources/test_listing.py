"""The files of a source are found as Spark would find them, and what is missing is named."""

from __future__ import annotations

import os

import pytest

from millstream.model.errors import RunError
from millstream.spark.sources.listing import check_there, listed


@pytest.fixture
def folder(tmp_path):
    files = ["a.json", "b.csv", ".hidden.json", "_SUCCESS", "day=1/c.json", "other/d.json"]
    for age, name in enumerate(files):
        file = tmp_path / name
        file.parent.mkdir(exist_ok=True)
        file.touch()
        os.utime(file, (1000 + age, 1000 + age))
    return tmp_path


def names(folder, below="", **options):
    found = listed(f"{folder}{below}", tuple(options.items()))
    return None if found is None else [str(file.relative_to(folder)) for file in found]


def test_files_are_those_of_the_folder_and_of_folders_that_say_values_newest_first(folder):
    assert names(folder) == ["day=1/c.json", "b.csv", "a.json"]


def test_options_and_patterns_choose_files(folder):
    assert names(folder, recursiveFileLookup="true") == [
        "other/d.json",
        "day=1/c.json",
        "b.csv",
        "a.json",
    ]
    assert names(folder, pathGlobFilter="*.json") == ["day=1/c.json", "a.json"]
    assert names(folder, "/*.csv") == ["b.csv"]
    assert names(folder, "/a.json") == ["a.json"]
    assert [str(file) for file in listed(f"file://{folder}/a.json", ())] == [f"{folder}/a.json"]


@pytest.mark.parametrize(
    ("below", "options"),
    [("/{a,b}.json", {}), ("/\\a", {}), ("", {"modifiedAfter": "2026-01-01T00:00:00"})],
)
def test_what_only_spark_can_choose_is_left_to_it(folder, below, options):
    assert names(folder, below, **options) is None


def test_a_path_that_is_there_passes(folder):
    for below in ("", "/a.json", "/*.json", "/{x,y}.json"):
        check_there(f"{folder}{below}", bounded=True)
    check_there(f"{folder}/*.xml", bounded=False)


@pytest.mark.parametrize(
    ("below", "what", "fix"),
    [
        ("/othr/d.json", "has no 'othr'", "did you mean '.*/other'"),
        ("/nowhere", "has no 'nowhere'", "make the folder before the job starts: mkdir -p"),
        ("/nowhere/*.json", "has no 'nowhere'", "mkdir -p .*/nowhere"),
        ("/*.xml", "nothing fits the pattern .*there are: .*a.json", "write a pattern that fits"),
    ],
)
def test_what_is_missing_is_named_with_what_to_do(folder, below, what, fix):
    with pytest.raises(RunError, match=f"(?s)MS215 in step 'files': .*{what}.*{fix}"):
        check_there(f"{folder}{below}", bounded=True, step="files")
