"""What people want to know of the state: how much each step has, and the rows of a key."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.operator import BY_WINDOW, least
from millstream.engine.state.document import Clocks, Document
from millstream.engine.state.resharding import key_columns


@dataclass
class StepState:
    """The state of one step in all shards. Times are in microseconds."""

    rows: int = 0
    bytes: int = 0
    buckets: int = 0
    shards: int = 0
    oldest: int | None = None
    """The start of the oldest window, if it has windows."""
    watermark: int | None = None

    def add(self, clocks: Clocks) -> None:
        """Adds what a shard has."""
        self.shards += 1
        self.watermark = least(self.watermark, clocks.watermark)
        for bucket in clocks.all_buckets:
            self.rows += bucket.all_rows
            self.bytes += bucket.all_bytes
            self.buckets += 1
            if len(bucket.name) == len(BY_WINDOW):
                self.oldest = least(self.oldest, bucket.name[0])


def by_step(documents: Iterable[Document]) -> dict[str, StepState]:
    """The state of each step, from the documents of all shards."""
    found: dict[str, StepState] = {}
    for document in documents:
        for step, clocks in document.operators.items():
            found.setdefault(step, StepState()).add(clocks)
    return found


def oldest_window(table: pl.DataFrame) -> int | None:
    """The earliest start of the windows in a table; None if it has none."""
    start = BY_WINDOW[0]
    if start not in table.columns:
        return None
    earliest = table[start].min()
    return earliest if isinstance(earliest, int) else None


def rows_with_key(table: pl.DataFrame, values: Sequence[str]) -> pl.DataFrame:
    """The rows whose keys are these, as text; ``null`` is also a key that is null.

    >>> table = pl.DataFrame({"key 0": ["red", "blue"], "key 1": [1, 2], "new": [3, 4]})
    >>> rows_with_key(table, ["blue", "2"])["new"].to_list()
    [4]
    """
    keys = key_columns(table)
    if len(keys) != len(values):
        return table.clear()
    rows = table
    for key, value in zip(keys, values, strict=True):
        rows = rows.filter(_texts(rows[key]) == value)
    return rows


def _texts(keys: pl.Series) -> pl.Series:
    if keys.dtype.is_nested() or keys.dtype == pl.Binary:
        return pl.Series(keys.name, map(str, keys.to_list()), pl.String)
    return keys.cast(pl.String).fill_null("null")
