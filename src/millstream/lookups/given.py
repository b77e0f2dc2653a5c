"""Makes a table of what a program gives: a dict, rows, a DataFrame, a path, or a function."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any, get_args

from millstream.lookups.files import FilesTable
from millstream.lookups.function import FunctionTable
from millstream.lookups.static import StaticTable, by_key
from millstream.model.arguments import one_of
from millstream.model.durations import not_negative, positive
from millstream.model.errors import PlanError
from millstream.plan.build.frames import frame_schema
from millstream.plan.build.lookup import lookup_keys
from millstream.plan.lookup import LookupTable, Reload, TableFormat
from millstream.plan.nodes import Node
from millstream.plan.types.rows import row_of, rows_of
from millstream.plan.types.schema import Schema

_FORMATS: dict[str, TableFormat] = {
    ".csv": "csv",
    ".json": "json",
    ".jsonl": "json",
    ".parquet": "parquet",
}


def table_of(
    given: Any,
    input: Node,
    on: Any,
    schema: Any = None,
    format: Any = None,
    reload: Any = None,
    cache: Any = 0,
    timeout: Any = "30s",
) -> tuple[LookupTable, list[str]]:
    """The table, and the columns of the rows that are looked up in it."""
    if isinstance(given, str | os.PathLike):
        return _files(os.fspath(given), input, on, schema, format, reload)
    if reload is not None:
        raise PlanError(
            "MS113",
            f"reload={reload!r} is for tables in files",
            fix="give the path of a file or folder, or leave reload out",
        )
    if isinstance(given, Mapping):
        return _mapping(given, input, on, schema)
    if callable(given):
        keys, _ = lookup_keys(input, on)
        columns = Schema.of(_needed(schema))
        kept, most = not_negative(cache, what="cache"), positive(timeout, what="timeout")
        return FunctionTable(given, columns, kept, most), keys
    columns, rows = _rows(given, schema)
    keys, others = lookup_keys(input, on, columns)
    return by_key(rows, tuple(others), _without(columns, others), "the table"), keys


def _mapping(
    given: Mapping[Any, Any], input: Node, on: Any, schema: Any
) -> tuple[StaticTable, list[str]]:
    """A dict of rows by their keys; ``schema`` has the columns of its values."""
    keys, _ = lookup_keys(input, on)
    columns = Schema.of(_needed(schema))
    rows = {
        key if len(keys) > 1 else (key,): row_of(row, columns, what=f"the row of {key!r}")
        for key, row in given.items()
    }
    return StaticTable(columns, rows), keys


def _rows(given: Any, schema: Any) -> tuple[Schema, Iterable[dict[str, Any]]]:
    """The columns and rows of a DataFrame, or of rows as ``from_rows`` takes them."""
    kinds = [f"{k.__module__}.{k.__name__}" for k in type(given).__mro__]
    if any(k.startswith("pyspark.sql") and k.endswith(".DataFrame") for k in kinds):
        columns = frame_schema(given)
        rows = [row.asDict(recursive=True) for row in given.collect()]
        return rows_of(rows, columns, "the table")
    if any(k.startswith("polars.") and k.endswith(".DataFrame") for k in kinds):
        return rows_of(given.to_dicts(), _needed(schema), "the table")
    if isinstance(given, Iterable):
        return rows_of(given, schema, "the table")
    raise PlanError(
        "MS113",
        f"lookup() takes a table, not {given!r}",
        fix="give a dict, rows, a DataFrame, the path of files, or a function of a list of keys",
    )


def _files(
    path: str, input: Node, on: Any, schema: Any, format: Any, reload: Any
) -> tuple[FilesTable, list[str]]:
    suffix = Path(path).suffix
    if format is None and suffix not in _FORMATS:
        raise PlanError(
            "MS113",
            f"nothing says of which format the files in {path!r} are",
            fix="write format='csv', 'json' or 'parquet'",
        )
    chosen: TableFormat = (
        _FORMATS[suffix] if format is None else one_of(format, "format", get_args(TableFormat))
    )
    columns = Schema.of(_needed(schema))
    keys, others = lookup_keys(input, on, columns)
    again: Reload = reload
    if reload not in (None, "change"):
        again = positive(reload, what="reload")
    _without(columns, others)
    return FilesTable(os.path.abspath(path), chosen, columns, tuple(others), again), keys


def _without(schema: Schema, keys: list[str]) -> Schema:
    kept = tuple(field for field in schema if field.name not in keys)
    if not kept:
        raise PlanError(
            "MS113",
            "the table has no columns besides its keys",
            fix="give a table with more columns; to keep rows whose key is in it, add one that is "
            "always true, and write missing='drop'",
        )
    return Schema(kept)


def _needed(schema: Any) -> Any:
    if schema is not None:
        return schema
    raise PlanError(
        "MS111",
        "nothing says what columns the table has",
        fix="give schema='name string, city string', say",
    )
