"""How a program speaks of files: where they are, in which format, with which options."""

from __future__ import annotations

import os
import re
from collections.abc import Iterable, Mapping
from typing import Any, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError
from millstream.model.secrets import Secret
from millstream.plan.build.file_options import check_read_options, checked_write_options
from millstream.plan.checks.file_columns import check_readable
from millstream.plan.nodes import FilesSource, OnMalformed
from millstream.plan.targets import FileFormat, FileMode, Files
from millstream.plan.types.decodable import check_decodable
from millstream.plan.types.schema import Field, Schema

LINES = Schema((Field("value", "STRING"),))
"""What text is read as, from files and sockets: a row for each line."""

_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:/")


def checked_path(path: Any) -> str:
    """The path, made absolute: a job may resume later, and elsewhere than where it was written.

    One with a scheme names its place already.

    >>> checked_path("/data/../scores"), checked_path("s3a://bucket/scores")
    ('/scores', 's3a://bucket/scores')
    """
    given = os.fspath(path) if isinstance(path, os.PathLike) else path
    if not isinstance(given, str) or not given.strip():
        raise PlanError(
            "MS113",
            f"{path!r} is no path",
            fix="give a folder, such as '/data/scores' or 's3a://bucket/scores'",
        )
    return given if _SCHEME.match(given) else os.path.abspath(given)


def checked_format(format: Any) -> FileFormat:
    """One of the formats that files are read and written in."""
    known: FileFormat = one_of(format, "format", get_args(FileFormat))
    return known


def files_target(
    schema: Schema, path: Any, format: Any, options: Any, partition_by: Any, mode: Any
) -> Files:
    """Where and how the rows of a step become files."""
    columns = checked_columns(partition_by, "partition_by", schema)
    if len(columns) == len(schema.names):
        raise PlanError(
            "MS113",
            f"partition_by={list(columns)!r} leaves no column for the files themselves",
            fix="leave one out: the columns of partition_by are in the names of folders only",
        )
    if mode is not None:
        one_of(mode, "mode", get_args(FileMode))
    place, kind = checked_path(path), checked_format(format)
    return Files(place, kind, checked_write_options(kind, checked_options(options)), columns, mode)


def checked_columns(given: Any, what: str, schema: Schema) -> tuple[str, ...]:
    """The columns that an argument names, each once; ``what`` names the argument.

    >>> checked_columns("Value", "partition_by", LINES)
    ('value',)
    """
    names = (given,) if isinstance(given, str) else given
    if not isinstance(names, Iterable):
        raise PlanError(
            "MS113",
            f"{what}={given!r} names no columns",
            fix=f"give names, such as {what}=[{schema.names[0]!r}]",
        )
    return tuple(dict.fromkeys(schema.resolve(str(name)).name for name in names))


def checked_options(options: Any) -> tuple[tuple[str, str], ...]:
    """Options as Spark takes them: names and texts.

    >>> checked_options({"header": True, "sep": ";"})
    (('header', 'true'), ('sep', ';'))
    """
    if options is None:
        return ()
    if isinstance(options, Mapping) and all(isinstance(name, str) for name in options):
        return tuple((name, _option(name, value)) for name, value in options.items())
    raise PlanError(
        "MS113",
        f"options, of type {type(options).__name__}, is no dict with texts for names",
        fix="give one, such as options={'header': True}",
    )


def file_schema(format: FileFormat, schema: Any) -> Schema:
    """The columns of files that are read; lines of text have always the same."""
    if format == "text":
        if schema is not None:
            raise PlanError(
                "MS113",
                f"schema={schema!r}: text files have one column, {LINES}, and no other schema",
                fix="leave schema out, and make columns of the line: "
                ".select(user=\"split(value, ',')[0]\")",
            )
        return LINES
    if schema is None:
        raise PlanError(
            "MS111",
            f"nothing says what columns the {format} files have",
            fix="give schema='user string, points int', say, or a dataclass",
        )
    columns = Schema.of(schema)
    check_readable(columns, format)
    return columns


def checked_malformed(on_malformed: Any, format: FileFormat) -> OnMalformed:
    """What becomes of lines that do not fit the schema; other formats than json and csv have none.

    >>> checked_malformed("null", "json")
    'null'
    """
    known: OnMalformed = one_of(on_malformed, "on_malformed", get_args(OnMalformed))
    if known != "reject" and format not in ("json", "csv"):
        raise PlanError(
            "MS113",
            f"on_malformed={on_malformed!r} is for json and csv, and {format} has no such lines",
            fix="leave on_malformed out",
        )
    return known


def check_read(source: FilesSource) -> None:
    """The options are some that the files can be read by, and the columns such as lines have."""
    check_read_options(source.format, source.options, by_spark=source.layout is None)
    if source.layout is not None:
        spark = "let Spark read it: on_malformed='null'"
        check_decodable(source.schema, source.layout.format, "files", spark)


def _option(name: str, value: Any) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, Secret):
        return value
    if isinstance(value, str | int | float):
        return str(value)
    raise PlanError(
        "MS113",
        # Not what it is: it may be a secret.
        f"the option {name!r} is of type {type(value).__name__}",
        fix="give text, a number, True or False",
    )
