"""Reads files in Python, where Spark has only named them.

Spark hands rows to Python one by one, which takes much longer than Arrow takes to read parquet. So
where nothing is to be done with the rows in the JVM, they never go there. Of JSON and CSV, Spark
makes null of what it cannot read: their lines are decoded here, as records of Kafka are.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from itertools import chain
from pathlib import PurePosixPath
from urllib.parse import unquote

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.engine.rows import from_arrow
from millstream.model.errors import RunError
from millstream.plan.layouts import Layout
from millstream.spark.sources.decoding import Reasons, decoded, decoded_fields
from millstream.spark.sources.lines import Cut, Line, cut_lines, lines_of, opened_file
from millstream.spark.sources.type_names import type_name

PATH = "path"
"""The column that names a file, in Spark's format ``binaryFile``."""
CONTENT = "content"
"""The column that has all of its bytes, for where Python cannot open the file itself."""
NAMES = f"{PATH} string, modificationTime timestamp, length bigint, {CONTENT} binary"


def named(opens: bool) -> tuple[str, ...]:
    """What Spark reads of files that Python ``opens``, or does not."""
    return (PATH,) if opens else (PATH, CONTENT)


_MOST_ROWS = 250_000
_NONE = "__HIVE_DEFAULT_PARTITION__"
_SYSTEM = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(//[^/]*)?(?=/)")


def depth(path: str) -> int:
    """How many folders deep it is what a program reads."""
    return len(PurePosixPath(os.path.normpath(_below_root(path))).parts)


def loaded(step: str, path: str, below: int, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file, some at a time: columns that it does not have are null.

    Where its folders say values, as in ``day=2026-11-16``, ``below`` those that the program names,
    these are columns, too.
    """
    place = PurePosixPath(_below_root(path))
    said = folders_say(place.parts[below:-1])
    with (
        _readable(step, str(place), "a whole parquet file, let schema=… say its types"),
        pq.ParquetFile(place, coerce_int96_timestamp_unit="us") as file,
    ):
        has = _by_any_case(file.schema_arrow.names)
        named = {f.name: has.get(f.name) or has.get(f.name.lower()) for f in schema}
        read = {n: name for name, n in named.items() if n and name.lower() not in said}
        for name, column in read.items():
            found = file.schema_arrow.field(name).type
            if not is_alike(schema.field(column).type, found):
                raise _misfit(step, str(place), schema.field(column), found)
        for batch in file.iter_batches(_MOST_ROWS, columns=list(read), use_threads=False):
            columns = []
            for field in schema:
                if field.name.lower() in said:
                    columns.append(_repeated(field, said, batch.num_rows))
                elif named[field.name] is None:
                    columns.append(pa.nulls(batch.num_rows, field.type))
                else:
                    column = batch.column(named[field.name])
                    columns.append(_fitting(step, place, field, column))
            yield pa.Table.from_arrays(columns, schema=schema)


@dataclass(frozen=True)
class Decoded:
    """Some lines of a file: the columns of those that could be read, and the others."""

    rows: pl.DataFrame
    rejected: list[tuple[int, bytes, str]] = field(default_factory=list)
    """The number of a line, its text, and the reason."""
    lines: Sequence[Line] = ()
    """All lines, those of the rows and the others; none if the file has no lines."""

    @cached_property
    def numbers(self) -> list[int]:
        """The number of the line that each row is of; few ask for it."""
        bad = {number for number, _, _ in self.rejected}
        return [number for number, _ in self.lines if number not in bad]


def decoded_lines(
    step: str, path: str, content: bytes | None, layout: Layout, below: int, schema: pa.Schema
) -> Iterator[Decoded]:
    """The lines of a file, some at a time, without those that are blank.

    ``content`` are its bytes, if it is not to be opened here.
    """
    place = PurePosixPath(_below_root(path))
    said = folders_say(place.parts[below:-1])
    inside = pa.schema([field for field in schema if field.name.lower() not in said])
    name = str(place) if content is None else path
    with (
        _readable(step, name, "the right one, look at its compression and encoding"),
        opened_file(place, content) as file,
    ):
        for made, why, lines in _line_columns(file, layout, inside):
            rows = _with_folders(made, said, schema, len(lines))
            good = [place for place in range(rows.height) if place not in why]
            bad = [(*lines[place], why[place]) for place in sorted(why)]
            yield Decoded(rows[good] if why else rows, bad, lines)


def _with_folders(
    rows: pl.DataFrame, said: dict[str, str | None], schema: pa.Schema, height: int
) -> pl.DataFrame:
    """The rows with the columns that folders say."""
    found = {f.name: _repeated(f, said, height) for f in schema if f.name.lower() in said}
    if not found:
        return rows
    beside = from_arrow(pa.table(found))
    return (rows.hstack(beside) if rows.width else beside).select(schema.names)


def _line_columns(
    file: pa.NativeFile, layout: Layout, schema: pa.Schema
) -> Iterator[tuple[pl.DataFrame, Reasons, Sequence[tuple[int, bytes]]]]:
    lines = lines_of(file, layout.encoding)
    if layout.format == "json":
        for some in lines:
            kept = [line for line in some if line[1].strip()]
            yield *decoded([text for _, text in kept], "json", schema), kept
        return
    names: tuple[str | None, ...] = tuple(schema.names)
    cuts = cut_lines(lines, layout)
    if layout.header:
        first: list[Cut] = next((some for some in cuts if some), [])
        names = _header(first, schema) if first else ()
        cuts = chain([first[1:]], cuts)
    for each in cuts:
        texts = [(number, text) for number, text, _ in each]
        yield *decoded_fields([fields for _, _, fields in each], names, schema), texts


def _header(first: list[Cut], schema: pa.Schema) -> tuple[str | None, ...]:
    """The columns of the fields, as the first line of a file names them."""
    _, _, fields = first[0]
    if isinstance(fields, Exception):
        raise fields
    names = [field or "" for field in fields]
    columns = _by_any_case(schema.names)
    found = [columns.get(name) or columns.get(name.lower()) for name in names]
    twice = [n for n in found if n is not None and found.count(n) > 1]
    if twice:
        raise ValueError(f"its header has {twice[0]!r} {found.count(twice[0])} times")
    return tuple(found)


def _by_any_case(names: Sequence[str]) -> dict[str, str]:
    """The names by themselves, and in lower case."""
    return {name.lower(): name for name in names} | {name: name for name in names}


def _repeated(field: pa.Field, said: dict[str, str | None], times: int) -> pa.Array:
    """A column of what a folder says."""
    text = pa.array([said[field.name.lower()]], pa.string())
    return pa.repeat(_as(field.type, text)[0], times)


@contextmanager
def _readable(step: str, file: str, if_it_is: str) -> Iterator[None]:
    """Whatever is wrong with a file as a whole, said with its name."""
    try:
        yield
    except (OSError, pa.ArrowException, UnicodeError, ValueError) as error:
        raise RunError(
            "MS202",
            f"the file {file} cannot be read: {error}",
            fix=f"if it is {if_it_is}; else take it away",
            step=step,
        ) from error


def _below_root(path: str) -> str:
    """A path in its file system, of one as Hadoop writes it.

    >>> _below_root("file:/data/x"), _below_root("file:///data/x"), _below_root("s3a://bucket/x")
    ('/data/x', '/data/x', '/x')
    """
    return _SYSTEM.sub("", path, count=1)


def folders_say(folders: Sequence[str]) -> dict[str, str | None]:
    """The values that are in the names of folders.

    >>> folders_say(["day=1", "more", "x y=a%2Fb"])
    {'day': '1', 'x y': 'a/b'}
    """
    values = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(n).lower(): None if v == _NONE else unquote(v) for n, _, v in values}


_ALIKE = (
    (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary),
    (pa.types.is_timestamp, pa.types.is_date),
    (pa.types.is_nested,),
)


def is_alike(wanted: pa.DataType, found: pa.DataType) -> bool:
    """Whether values of a type that a file has may be such as the program requires."""
    if pa.types.is_dictionary(found):
        found = found.value_type
    return (
        found == wanted
        or pa.types.is_null(found)
        or any(all(any(is_it(k) for is_it in f) for k in (found, wanted)) for f in _ALIKE)
    )


def _misfit(step: str, file: str, field: pa.Field, found: pa.DataType, why: str = "") -> RunError:
    return wrong_type(step, file, field.name, type_name(found), type_name(field.type), why)


def wrong_type(
    step: str | None, file: str, column: str, found: str, wanted: str, why: str = ""
) -> RunError:
    """MS214, for a column of a parquet file."""
    return RunError(
        "MS214",
        f"the file {file} has {found} in column {column!r}, and the schema says {wanted}{why}",
        fix=f"give {column!r} in the schema the type that it has in the file, and convert it in "
        "with_columns(…); or take away a file that is not of this data",
        step=step,
    )


def _fitting(step: str, file: PurePosixPath, field: pa.Field, column: pa.Array) -> pa.Array:
    """The column in the type that the program says, if that holds all that is in it."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    try:
        return _as(field.type, column)
    except pa.ArrowInvalid as error:
        raise _misfit(step, str(file), field, column.type, f": {error}") from error


def _as(kind: pa.DataType, column: pa.Array) -> pa.Array:
    """The column in another type, if that holds all that is in it."""
    found = column.type
    if found == kind:
        return column
    if pa.types.is_timestamp(kind) and pa.types.is_timestamp(found):
        column = pc.floor_temporal(column, unit="microsecond") if found.unit == "ns" else column
        # An instant without a zone is in UTC.
        return column.cast(pa.timestamp("us", found.tz)).cast(kind)
    if pa.types.is_timestamp(kind) and pa.types.is_string(found):
        return column.cast(pa.timestamp("us")).cast(kind)
    return column.cast(kind)
