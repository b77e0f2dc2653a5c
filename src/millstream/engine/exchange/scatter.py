"""Before the shuffle: a batch is prepared, and cut into what each shard is to get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

import polars as pl

from millstream.engine.exchange.hashing import hashed
from millstream.engine.grouping.operator import Grouping
from millstream.engine.operator import BUCKETS
from millstream.engine.state.arrivals import Arrival, cut, is_large
from millstream.engine.state.blobs import packed
from millstream.engine.tables import concatenated

_MOST_ROWS = 500_000
"""How many rows may be held back in order to be combined, or go out in one table."""
_MANY_WINDOWS = 16
_FEW_ROWS = 1000
"""Where there are many windows and, as a rule, fewer rows in each, all go out in one table."""
_SOME_ROWS = 10_000
"""How many rows show whether keys repeat."""
_HARDLY_REPEAT, _OFTEN_REPEAT = 0.9, 0.35
"""The part of those rows that are different, where keys hardly repeat, or often."""


class Scatter:
    """Takes the tables of a batch as they arrive; gives the arrivals of each shard."""

    def __init__(self, grouping: Grouping, keys: Sequence[str], shards: int) -> None:
        self._compiled = grouping.compiled
        self._keys = list(keys)
        self._shards = shards
        self._given: list[pl.DataFrame] = []
        self._prepared: list[pl.DataFrame] = []

    def take(self, batch: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        """Takes some rows; what has become many goes out."""
        if not batch.height:
            return
        self._given.append(batch)
        if _height(self._given) >= _MOST_ROWS:
            fewer = self._prepare()
            if not fewer or _height(self._prepared) >= _MOST_ROWS:
                yield from self.rest()

    def rest(self) -> Iterator[tuple[int, Arrival]]:
        """What is left."""
        self._prepare()
        while self._prepared:
            yield from self._cut(self._prepared.pop(0))

    def _prepare(self) -> bool:
        """Prepares what was given; whether that made much fewer rows of it."""
        given, self._given = self._given, []
        table = concatenated(*given)
        if table is None:
            return False
        made = self._compiled.in_windows(table)
        different = self._different(made) if self._compiled.combines else 1.0
        if different > _HARDLY_REPEAT:
            self._prepared.append(made)
            return False
        made = self._compiled.folded(made, few_groups=different < _OFTEN_REPEAT)
        fewer = made.height < table.height // 2
        if fewer and self._prepared:
            made = self._compiled.combined(pl.concat([*self._prepared, made]))
            self._prepared = []
        self._prepared.append(made)
        return fewer

    def _different(self, table: pl.DataFrame) -> float:
        """How many of the rows have a key and window, or slice, of their own, as some of them show.

        Many keys are folded in less time and room after they have been cut apart, few before; and
        very few together with their windows.
        """
        if not (self._keys and is_large(table.height)):
            return _OFTEN_REPEAT
        by = [*self._keys, "start" if self._compiled.slices is None else "slice"]
        some = table.select(by).gather_every(max(1, table.height // _SOME_ROWS))
        return some.group_by(by).len().height / some.height

    def _cut(self, table: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        numbers = hashed(table, self._keys)
        table = table.with_columns(shard=numbers % self._shards)
        by = ["shard"]
        if not self._compiled.by_window:
            bucket = (numbers // self._shards % BUCKETS).cast(pl.UInt8)
            table = table.with_columns(bucket=bucket)
        elif self._compiled.slices is None and not self._in_small_windows(table):
            by = ["shard", "start", "end"]
        parts = table.partition_by(by, include_key=False, as_dict=True)
        del table, numbers  # they have as many rows as all parts
        for shard, *window in list(parts):
            part = parts.pop((shard, *window))
            for arrival in self._arrivals(part, window):
                yield shard, arrival

    def _arrivals(self, rows: pl.DataFrame, window: list[Any]) -> Iterator[Arrival]:
        """What one shard is to get."""
        if None in window:  # they are in none
            rows = rows.with_columns(
                pl.lit(None, pl.Int64).alias(name) for name in ("start", "end")
            )
            window = []
        if window and self._compiled.appends:
            yield from cut(rows, self._keys, tuple(window), self._folded)
        else:
            rows = self._folded(rows)
            yield Arrival(packed(rows), rows.height, tuple(window) if window else None)

    def _folded(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows, combined if they can be and are not yet."""
        if not self._compiled.combines or "new" in rows.columns:
            return rows
        return self._compiled.folded(rows)

    def _in_small_windows(self, table: pl.DataFrame) -> bool:
        windows = table["start"].n_unique()
        return windows > _MANY_WINDOWS and table.height < windows * _FEW_ROWS * self._shards


def _height(tables: list[pl.DataFrame]) -> int:
    return sum(table.height for table in tables)
