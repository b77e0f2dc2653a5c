"""Columns as text, as Spark would write them to csv and JSON, in Polars expressions.

Polars' own JSON writer is not used: it writes NaN as null and decimals as text, and does not
support bytes.
"""

from __future__ import annotations

import json
from typing import TypeAlias

import polars as pl
from polars.datatypes import DataTypeClass

_Type: TypeAlias = pl.DataType | DataTypeClass

_ESCAPES = {each: json.dumps(each)[1:-1] for each in ('"', "\\", *map(chr, range(32)))}
_QUOTE = pl.lit('"')


def json_lines(rows: pl.DataFrame) -> pl.Series:
    """Each row as a JSON object in a line.

    >>> json_lines(pl.DataFrame({"user": ["ann"], "scores": [[1.5, None]]})).to_list()
    ['{"user":"ann","scores":[1.5,null]}']
    """
    return rows.select(_json(pl.struct(pl.all()), pl.Struct(rows.schema)).alias("line"))["line"]


def plain(value: pl.Expr, type: _Type) -> pl.Expr:
    """A value as text without quotes: times in ISO 8601, bytes in Base64, nested values as JSON.

    >>> from datetime import UTC, datetime
    >>> rows = pl.DataFrame({"at": [datetime(2024, 5, 1, 12, tzinfo=UTC)]})
    >>> rows.select(plain(pl.col("at"), rows.schema["at"])).item()
    '2024-05-01T12:00:00.000Z'
    """
    match type:
        case pl.Datetime(time_zone=zone):
            if zone is None:
                return _timestamp(value, "")
            return _timestamp(value.dt.convert_time_zone("UTC"), "Z")
        case pl.Binary():
            return value.bin.encode("base64")
        case pl.Float32() | pl.Float64():
            return _float(value)
        case pl.Struct() | pl.List() | pl.Array() | pl.Map():
            return _json(value, type)
    return value.cast(pl.String)


def _json(value: pl.Expr, type: _Type) -> pl.Expr:
    match type:
        case pl.Struct(fields=fields):
            return _object(value, fields)
        case pl.Array(inner=inner):
            return _array(value.arr.to_list(), inner)
        case pl.List(inner=inner):
            return _array(value, inner)
        case pl.Map(key=key, value=of):
            return _map(value, key, of)
        case pl.Float32() | pl.Float64():
            # JSON has no infinite numbers and no NaN: Spark writes a text, and can read it.
            text = _float(value)
            return pl.when(value.is_finite()).then(text).otherwise(_quoted(text))
        case pl.Binary() | pl.Datetime() | pl.Date():
            return _quoted(plain(value, type))
        case pl.Boolean() | pl.Decimal() | pl.Null():
            return plain(value, type)
    if type.is_integer():
        return plain(value, type)
    return _escaped(plain(value, type))


def _object(value: pl.Expr, fields: list[pl.Field]) -> pl.Expr:
    # By number: for Polars, a name such as * would be a pattern.
    numbered = value.struct.rename_fields([str(number) for number in range(len(fields))])
    parts: list[pl.Expr] = []
    for number, field in enumerate(fields):
        name = json.dumps(field.name, ensure_ascii=False)
        parts.append(pl.lit(f",{name}:" if parts else f"{{{name}:"))
        parts.append(_json(numbered.struct.field(str(number)), field.dtype).fill_null("null"))
    return pl.when(value.is_not_null()).then(pl.concat_str(*parts, pl.lit("}")))


def _array(value: pl.Expr, inner: _Type) -> pl.Expr:
    items = value.list.eval(_json(pl.element(), inner).fill_null("null"))
    return pl.concat_str(pl.lit("["), items.list.join(","), pl.lit("]"))


def _map(value: pl.Expr, key: _Type, of: _Type) -> pl.Expr:
    name = _escaped(plain(pl.element().struct.field("key"), key))
    item = _json(pl.element().struct.field("value"), of).fill_null("null")
    entries = value.map.entries().list.eval(pl.concat_str(name, pl.lit(":"), item))
    return pl.concat_str(pl.lit("{"), entries.list.join(","), pl.lit("}"))


def _float(value: pl.Expr) -> pl.Expr:
    endless = pl.when(value > 0).then(pl.lit("Infinity")).otherwise(pl.lit("-Infinity"))
    return pl.when(value.is_infinite()).then(endless).otherwise(value.cast(pl.String))


def _timestamp(value: pl.Expr, zone: str) -> pl.Expr:
    # Spark always writes milliseconds and no more digits; here all digits are kept.
    text = value.dt.strftime(f"%Y-%m-%dT%H:%M:%S%.6f{zone}")
    return text.str.replace(f"000{zone}$", zone)


def _escaped(text: pl.Expr) -> pl.Expr:
    return _quoted(text.str.replace_many(list(_ESCAPES), list(_ESCAPES.values())))


def _quoted(text: pl.Expr) -> pl.Expr:
    return pl.concat_str(_QUOTE, text, _QUOTE)
