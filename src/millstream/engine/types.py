"""Which Arrow type holds the values of a Spark type."""

from __future__ import annotations

import re
from functools import cache

import polars as pl
import pyarrow as pa

from millstream.plan.types.result_types import base_type

_PLAIN = {
    "TINYINT": pa.int8(),
    "SMALLINT": pa.int16(),
    "INT": pa.int32(),
    "BIGINT": pa.int64(),
    "FLOAT": pa.float32(),
    "DOUBLE": pa.float64(),
    **dict.fromkeys(("STRING", "CHAR", "VARCHAR"), pa.large_string()),
    "BOOLEAN": pa.bool_(),
    "BINARY": pa.large_binary(),
    "DATE": pa.date32(),
    "TIMESTAMP": pa.timestamp("us", "UTC"),
    "TIMESTAMP_NTZ": pa.timestamp("us"),
}


@cache
def arrow_type(type: str) -> pa.DataType | None:
    """The type of a column; None for one that Arrow has no counterpart of, such as VARIANT.

    >>> arrow_type("STRUCT<user: STRING, points: ARRAY<DECIMAL(10, 2)>>")
    StructType(struct<user: large_string, points: list<item: decimal128(10, 2)>>)
    """
    base = base_type(type)
    if base in _PLAIN:
        return _PLAIN[base]
    if base == "DECIMAL":
        precision, scale = map(int, re.findall(r"\d+", type))
        return pa.decimal128(precision, scale)
    from millstream.plan.types.ddl import inner_types

    inner = [(name, arrow_type(each)) for name, each in inner_types(type)]
    if not inner or any(each is None for _, each in inner):
        return None
    match base:
        case "ARRAY":
            return pa.list_(inner[0][1])
        case "MAP":
            return pa.map_(inner[0][1], inner[1][1])
    return pa.struct(inner)


@cache
def polars_type(type: str) -> pl.DataType:
    """The type of a column in Polars.

    >>> polars_type("ARRAY<BIGINT>")
    List(Int64)
    """
    made = pl.from_arrow(pa.array([], arrow_type(type)))
    assert isinstance(made, pl.Series)
    return made.dtype
