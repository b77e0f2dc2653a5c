"""The names that users may rely on: a change here is a change of the API."""

from __future__ import annotations

import subprocess
import sys
import tomllib
from inspect import getdoc, isfunction
from pathlib import Path

import pytest

import millstream
import millstream.testing

WHERE = {
    "fixed", "sliding", "session", "global_window", "calendar", "count_window", "delta_window",
    "punctuated_window", "processing_time",
}  # fmt: skip
WHEN = {
    "at_watermark", "after_count", "after_delay", "every", "repeatedly", "first_of", "all_of",
    "in_order", "never",
}  # fmt: skip
STATE = {"Processor", "timer", "ttl"}
HOW = {"discarding", "accumulating", "retracting"}
WHAT = {
    "count", "sum", "min", "max", "mean", "variance", "stddev", "first", "last", "any_value",
    "collect", "collect_set", "count_distinct", "top", "quantile", "approx_distinct",
    "approx_quantile", "combine",
}  # fmt: skip
WATERMARKS = {"bounded", "ascending", "punctuated"}
SOURCES = {"from_rows", "from_dataframe", "read_files", "read_kafka", "read_rate", "read_socket"}
PROGRAM = {"Stream", "Pipeline", "pipeline", "cogroup", "union", "secret"}
ERRORS = {"KafkaError", "MillstreamError", "PlanError", "RunError"}


def test_the_public_names_are_these_and_no_others() -> None:
    assert set(millstream.__all__) == (
        WHERE
        | WHEN
        | HOW
        | WHAT
        | WATERMARKS
        | SOURCES
        | PROGRAM
        | ERRORS
        | STATE
        | {"__version__"}
    )
    assert len(millstream.__all__) == len(set(millstream.__all__))


def test_a_listing_shows_the_public_names_alone() -> None:
    assert set(dir(millstream)) == set(millstream.__all__)


def test_every_public_name_is_there() -> None:
    assert [name for name in millstream.__all__ if not hasattr(millstream, name)] == []


PUBLIC = [
    pytest.param(getattr(module, name), id=f"{module.__name__}.{name}")
    for module in (millstream, millstream.testing)
    for name in module.__all__
]


@pytest.mark.parametrize("public", PUBLIC)
def test_a_public_name_has_a_docstring(public: object) -> None:
    assert getdoc(public)


FUNCTIONS = [public for public in PUBLIC if isfunction(*public.values)]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_public_function_has_an_example(function: object) -> None:
    assert ">>> " in str(getdoc(function))


def test_the_version_is_that_of_the_project() -> None:
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text())["project"]
    assert millstream.__version__ == project["version"]


def loaded_by(program: str) -> set[str]:
    """The modules that a program has loaded when it ends."""
    program = f"import sys, millstream as ms\n{program}\nprint(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    return set(ran.stdout.split())


def test_importing_millstream_imports_no_dataframe_library_and_no_spark() -> None:
    assert loaded_by("pass") & {"pyspark", "pandas", "polars", "pyarrow"} == set()


@pytest.mark.parametrize(
    "program",
    [
        "pass",
        "ms.fixed(10), ms.repeatedly(ms.after_count(5)), ms.sum('n'), ms.bounded('30s')",
        "code = ''\ntry: ms.fixed(0)\nexcept ms.PlanError as error: code = error.code\n"
        "assert code == 'MS101'",
    ],
)
def test_only_programs_with_schemas_or_expressions_load_the_reader_of_sql(program: str) -> None:
    loaded = loaded_by(program)
    assert {"sqlglot", "millstream.reference", "millstream.jobs.job"} & loaded == set()
