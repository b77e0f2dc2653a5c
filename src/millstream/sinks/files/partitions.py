"""Folders by the values of columns, named as Hive and Spark name them.

Each row is in the folder ``column=value/…`` of its values, and the files there have the other
columns. Readers find the values in the names of the folders.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from millstream.engine.rows import from_arrow
from millstream.sinks.texts import plain

# As in Spark: characters with a meaning for a file system, Hive or a URI.
_ESCAPED = frozenset({*map(chr, range(1, 32)), *"\"#%'*/:=?\\{[]^", "\x7f"})
_NOTHING = "__HIVE_DEFAULT_PARTITION__"


def by_folder(rows: pa.Table, columns: tuple[str, ...]) -> Iterator[tuple[str, pa.Table]]:
    """The rows of each folder, without the columns in its name.

    >>> rows = pa.table({"team": ["red", None, "red"], "n": [1, 2, 3]})
    >>> [(folder, part["n"].to_pylist()) for folder, part in by_folder(rows, ("team",))]
    [('team=red', [1, 3]), ('team=__HIVE_DEFAULT_PARTITION__', [2])]
    """
    if not columns:
        yield "", rows
        return
    values = from_arrow(rows.select(columns))
    texts = values.select(_text(pl.col(name), values.schema[name]) for name in columns)
    places = texts.with_row_index("").group_by(*columns, maintain_order=True).agg("")
    rest = rows.drop_columns(list(columns))
    for *of, numbers in places.iter_rows():
        folder = "/".join(map(_folder, columns, of))
        yield folder, rest.take(pa.array(numbers, pa.uint32()))


def _text(value: pl.Expr, type: pl.DataType) -> pl.Expr:
    """A value as Spark casts it to text."""
    if isinstance(type, pl.Datetime):
        value = value.dt.convert_time_zone("UTC") if type.time_zone else value
        text = value.dt.strftime("%Y-%m-%d %H:%M:%S%.6f")
        return text.str.strip_chars_end("0").str.strip_chars_end(".")
    return plain(value, type)


def _folder(column: str, value: str | None) -> str:
    """The name of a folder; a null and an empty text have the same.

    >>> _folder("at", "2026-11-17 19:00:00"), _folder("team", "")
    ('at=2026-11-17 19%3A00%3A00', 'team=__HIVE_DEFAULT_PARTITION__')
    """
    return f"{_escape(column)}={_escape(value) if value else _NOTHING}"


def _escape(text: str) -> str:
    return "".join(f"%{ord(each):02X}" if each in _ESCAPED else each for each in text)
