"""Reads parquet files in Python, where Spark has only named them.

Spark hands rows to Python one by one, which takes much longer than Arrow takes to read them. So
where nothing is to be done with the rows in the JVM, they never go there.
"""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from pathlib import PurePosixPath
from urllib.parse import unquote

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet as pq

from millstream.model.errors import RunError

PATH = "path"
"""The column that names a file, in Spark's format ``binaryFile``."""
NAMES = f"{PATH} string, modificationTime timestamp, length bigint, content binary"

_MOST_ROWS = 250_000
_NONE = "__HIVE_DEFAULT_PARTITION__"


def depth(path: str) -> int:
    """How many folders deep it is what a program reads."""
    return len(PurePosixPath(os.path.abspath(_local(path))).parts)


def loaded(step: str, path: str, below: int, schema: pa.Schema) -> Iterator[pa.Table]:
    """The rows of a file, some at a time: columns that it does not have are null.

    Where its folders say values, as in ``day=2026-11-16``, ``below`` those that the program names,
    these are columns, too.
    """
    place = PurePosixPath(_local(path))
    said = _folders_say(place.parts[below:-1])
    try:
        with pq.ParquetFile(place, coerce_int96_timestamp_unit="us") as file:
            has = {name.lower(): name for name in file.schema_arrow.names}
            has |= {name: name for name in file.schema_arrow.names}
            named = {f.name: has.get(f.name) or has.get(f.name.lower()) for f in schema}
            read = [n for name, n in named.items() if n is not None and name.lower() not in said]
            for batch in file.iter_batches(_MOST_ROWS, columns=read, use_threads=False):
                columns = []
                for field in schema:
                    if field.name.lower() in said:
                        text = pa.array([said[field.name.lower()]], pa.string())
                        value = _as(field.type, text)[0]
                        columns.append(pa.repeat(value, batch.num_rows))
                    elif named[field.name] is None:
                        columns.append(pa.nulls(batch.num_rows, field.type))
                    else:
                        column = batch.column(named[field.name])
                        columns.append(_as(field.type, _alike(field, column)))
                yield pa.Table.from_arrays(columns, schema=schema)
    except (OSError, pa.ArrowException) as error:
        raise RunError(
            "MS202",
            f"the file {place} cannot be read: {error}",
            fix="if it is a whole parquet file, let schema=… say its types; else take it away",
            step=step,
        ) from error


def _local(path: str) -> str:
    """A path as the system knows it, of one as Hadoop writes it."""
    return "/" + path.removeprefix("file:").lstrip("/") if path.startswith("file:") else path


def _folders_say(folders: Sequence[str]) -> dict[str, str | None]:
    """The values that are in the names of folders.

    >>> _folders_say(["day=1", "more", "x y=a%2Fb"])
    {'day': '1', 'x y': 'a/b'}
    """
    told = (folder.partition("=") for folder in folders if "=" in folder)
    return {unquote(n).lower(): None if v == _NONE else unquote(v) for n, _, v in told}


_ALIKE = (
    (pa.types.is_integer, pa.types.is_floating, pa.types.is_decimal),
    (pa.types.is_string, pa.types.is_large_string, pa.types.is_binary, pa.types.is_large_binary),
    (pa.types.is_timestamp, pa.types.is_date),
    (pa.types.is_nested,),
)


def _alike(field: pa.Field, column: pa.Array) -> pa.Array:
    """The column, if it is of a type that is like the one that the program says."""
    if pa.types.is_dictionary(column.type):
        column = column.dictionary_decode()
    found = column.type
    if found == field.type or pa.types.is_null(found):
        return column
    for family in _ALIKE:
        if all(any(is_it(kind) for is_it in family) for kind in (found, field.type)):
            return column
    raise pa.ArrowInvalid(f"column {field.name!r} is {found}, and not {field.type}")


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
