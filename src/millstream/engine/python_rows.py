"""Rows in columns as the rows that users get: the same Python values that the reference gives."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

_PLAIN = (pl.Int8, pl.Int16, pl.Int32, pl.Int64, pl.Float64, pl.String, pl.Boolean)
"""Types whose values Polars gives as rows have them, and faster than Arrow."""


def python_columns(table: pl.DataFrame) -> list[list[Any]]:
    """The same values as ``python_rows``, column by column.

    >>> python_columns(pl.DataFrame({"n": [1, None], "tags": [["a"], []]}))
    [[1, None], [['a'], []]]
    """
    return [
        column.to_list()
        if column.dtype in _PLAIN
        else [row["of"] for row in python_rows(pa.table({"of": column.to_arrow()}))]
        for column in table
    ]


def python_rows(table: pa.Table) -> list[dict[str, Any]]:
    """Each row as a dict: structs and maps as dicts, timestamps in ``datetime.UTC``.

    >>> import datetime
    >>> at = pa.array([datetime.datetime(2024, 5, 1)], pa.timestamp("us", "UTC"))
    >>> python_rows(pa.table({"at": at}))
    [{'at': datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)}]
    """
    schema = pa.schema([field.with_type(_in_utc(field.type)) for field in table.schema])
    rows: list[dict[str, Any]] = table.cast(schema).to_pylist(maps_as_pydicts="strict")
    return rows


def _in_utc(type: pa.DataType) -> pa.DataType:
    """The type with each time zone spelled so that Arrow gives ``datetime.UTC``; no value moves."""
    if pa.types.is_timestamp(type) and type.tz is not None:
        return pa.timestamp(type.unit, "+00:00")
    if pa.types.is_struct(type):
        return pa.struct([field.with_type(_in_utc(field.type)) for field in type])
    if pa.types.is_map(type):
        return pa.map_(_in_utc(type.key_type), _in_utc(type.item_type))
    if pa.types.is_list(type):
        return pa.list_(type.value_field.with_type(_in_utc(type.value_type)))
    if pa.types.is_large_list(type):
        return pa.large_list(type.value_field.with_type(_in_utc(type.value_type)))
    return type
