"""Options of files are refused where a program gives them: wrong names, and wrong values."""

from __future__ import annotations

from typing import Any

import pytest

import millstream as ms
from millstream.plan.nodes import FilesSource, Sink
from millstream.plan.targets import Files

LINES = ms.from_rows([("a",)], schema="line string")


def refusal(call: Any) -> str:
    with pytest.raises(ms.PlanError) as caught:
        call()
    return str(caught.value)


@pytest.mark.parametrize(
    ("format", "options", "message"),
    [
        (
            "parquet",
            {"compresion": "zstd"},
            "parquet files are written without an option 'compresion'\n"
            "  What to do: did you mean 'compression'? There are: compression",
        ),
        (
            "json",
            {"header": True},
            "json files are written without an option 'header'\n"
            "  What to do: use one of: compression",
        ),
        (
            "csv",
            {"compression": "snappy"},
            "the option compression='snappy' is not a choice for csv files\n"
            "  What to do: use one of: 'none', 'gzip'",
        ),
        (
            "csv",
            {"sep": "::"},
            "the option sep='::' is not a choice for csv files\n"
            "  What to do: use one of: ',', ';', '|', '\\t'",
        ),
        (
            "text",
            {"compression": None},
            "the option 'compression' is of type NoneType\n"
            "  What to do: give text, a number, True or False",
        ),
    ],
)
def test_options_that_files_are_not_written_with_are_refused_in_their_step(
    format: Any, options: dict[str, Any], message: str
) -> None:
    text = refusal(lambda: LINES.write_files("/out", format, options, name="out"))
    assert text == f"MS113 in step 'out': {message}\n  More: millstream help MS113"


def test_options_of_written_files_are_read_as_spark_reads_them() -> None:
    given = {"Header": False, "compression": "GZIP", "sep": "\t"}
    (sink,) = LINES.write_files("/out", "csv", given).outputs
    assert isinstance(sink, Sink)
    assert isinstance(sink.target, Files)
    assert dict(sink.target.options) == {"header": "false", "compression": "gzip", "sep": "\t"}


READ = [
    ("parquet", {"mergeShema": True}, "files are read without an option 'mergeShema'",
     "did you mean 'mergeSchema'?"),
    ("parquet", {"mergeSchema": "maybe"}, "mergeSchema='maybe' is not a choice", "True or False"),
    ("text", {"header": True}, "text files are read without an option 'header'", "use one of: "),
    ("text", {"maxFilesPerTrigger": 5}, "is an argument of read_files", "max_files_per_batch="),
    ("csv", {"maxFileAge": "5 parsecs"}, "maxFileAge='5 parsecs' is not a choice", "'7d'"),
    ("json", {"latestFirst": "perhaps"}, "latestFirst='perhaps' is not a choice", "True or False"),
    ("json", {"modifiedAfter": "soon"}, "modifiedAfter='soon' is not a choice", "an instant"),
    ("json", {"maxBytesPerTrigger": 0}, "maxBytesPerTrigger='0' is not a choice", "1 or more"),
    ("json", {"maxCachedFiles": "x"}, "maxCachedFiles='x' is not a choice", "0 or more"),
    ("csv", {"discardCachedInputRatio": 7}, "Ratio='7' is not a choice", "from 0 to 1"),
    ("csv", {"cleanSource": "burn"}, "cleanSource='burn' is not a choice", "archive, delete, off"),
]  # fmt: skip


@pytest.mark.parametrize(("format", "options", "what", "fix"), READ)
def test_options_that_files_are_not_read_with_are_refused_in_their_step(
    format: Any, options: dict[str, Any], what: str, fix: str
) -> None:
    schema = None if format == "text" else "n int"
    with pytest.raises(ms.PlanError, match="MS113 in step 'in'") as caught:
        ms.read_files("/in", format, schema, options=options, name="in")
    assert what in caught.value.what
    assert fix in caught.value.fix


@pytest.mark.parametrize(
    ("options", "what"),
    [
        ({"hedaer": True}, "csv files are read without an option 'hedaer'"),
        ({"mode": "STRICT"}, "the option mode='STRICT' is not a choice"),
        ({"header": "yes"}, "the option header='yes' is not a choice"),
    ],
)
def test_options_of_sparks_own_reader_are_checked_too(options: dict[str, Any], what: str) -> None:
    with pytest.raises(ms.PlanError, match="MS113") as caught:
        ms.read_files("/in", "csv", "n int", options=options, on_malformed="null")
    assert caught.value.what == what


def test_options_that_there_are_pass_in_any_case() -> None:
    given = {
        "mergeschema": True,
        "MODIFIEDBEFORE": "2026-11-17 12:00:00",
        "maxFileAge": "7d",
        "maxBytesPerTrigger": 1_000_000,
        "discardCachedInputRatio": 0.25,
        "cleanSource": "ARCHIVE",
        "sourceArchiveDir": "/old",
        "fs.s3a.endpoint": "there",
    }
    source = ms.read_files("/in", schema="n int", options=given).node
    assert isinstance(source, FilesSource)
    assert dict(source.options).keys() == given.keys()


@pytest.mark.parametrize("columns", [5, None])
def test_columns_are_named_by_texts(columns: Any) -> None:
    assert "MS113 in step 'write_files-1': partition_by=" in refusal(
        lambda: LINES.write_files("/out", partition_by=columns)
    )
    assert "MS113 in step 'files-1': optional=" in refusal(
        lambda: ms.read_files("/in", "json", "n int", optional=columns)
    )
