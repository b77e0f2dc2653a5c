"""Before the shuffle: a batch is prepared, and cut into what each shard is to get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from millstream.engine.blobs import packed
from millstream.engine.grouping import Grouping
from millstream.engine.hashing import hashed
from millstream.engine.shard import BUCKETS, Arrival, cut
from millstream.engine.tables import concatenated

_MOST_ROWS = 500_000
"""How many rows may be held back in order to be combined, or go out in one table."""
_MANY_WINDOWS = 16
_FEW_ROWS = 1000
"""Where there are many windows and, as a rule, fewer rows in each, all go out in one table."""


class Scatter:
    """Takes the tables of a batch as they come; lets out the arrivals of each shard."""

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
        prepared, self._prepared = self._prepared, []
        for table in prepared:
            yield from self._cut(table)

    def _prepare(self) -> bool:
        """Prepares what was given; whether that made much fewer rows of it."""
        given, self._given = self._given, []
        table = concatenated(*given)
        if table is None:
            return False
        made = self._compiled.prepared(table)
        fewer = self._compiled.combines and made.height < table.height // 2
        if fewer and self._prepared:
            made = self._compiled.combined(pl.concat([*self._prepared, made]))
            self._prepared = []
        self._prepared.append(made)
        return fewer

    def _cut(self, table: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        numbers = hashed(table, self._keys)
        table = table.with_columns(shard=numbers % self._shards)
        if not self._compiled.by_window:
            bucket = (numbers // self._shards % BUCKETS).cast(pl.UInt8)
            table = table.with_columns(bucket=bucket)
        for (shard,), part in table.partition_by("shard", include_key=False, as_dict=True).items():
            for arrival in self._arrivals(part):
                yield shard, arrival

    def _arrivals(self, table: pl.DataFrame) -> Iterator[Arrival]:
        """What one shard is to get."""
        if not self._compiled.by_window or _in_small_windows(table):
            yield Arrival(packed(table), table.height)
            return
        for (start, end), part in table.partition_by("start", "end", as_dict=True).items():
            rows = part.drop("start", "end")
            if start is None:
                yield Arrival(packed(part), part.height)
            elif self._compiled.appends:
                yield from cut(rows, self._keys, (start, end))
            else:
                yield Arrival(packed(rows), rows.height, (start, end))


def _in_small_windows(table: pl.DataFrame) -> bool:
    windows = table["start"].n_unique()
    return windows > _MANY_WINDOWS and table.height < windows * _FEW_ROWS


def _height(tables: list[pl.DataFrame]) -> int:
    return sum(table.height for table in tables)
