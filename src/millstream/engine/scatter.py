"""Before the shuffle: a batch is prepared, and cut into what each shard is to get."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from millstream.engine.blobs import packed
from millstream.engine.grouping import Grouping
from millstream.engine.hashing import hashed
from millstream.engine.shard import BUCKETS, Arrival
from millstream.engine.tables import concatenated

_MOST_ROWS = 250_000
"""How many rows may be held back in order to be combined, or go out in one table."""


class Scatter:
    """Takes the tables of a batch as they come; lets out the arrivals of each shard."""

    def __init__(self, grouping: Grouping, keys: Sequence[str], shards: int) -> None:
        self._compiled = grouping.compiled
        self._keys = list(keys)
        self._shards = shards
        self._held: list[pl.DataFrame] = []
        self._rows = 0

    def take(self, batch: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        """Prepares some rows; what has become many goes out."""
        if not batch.height:
            return
        prepared = self._compiled.prepared(batch)
        self._held.append(prepared)
        self._rows += prepared.height
        if self._rows >= _MOST_ROWS:
            before = self._rows
            self._combine()
            # Where combining does not make fewer of many, holding back more of them would not help.
            if not self._compiled.combines or self._rows > before // 2:
                yield from self.rest()

    def rest(self) -> Iterator[tuple[int, Arrival]]:
        """What is left."""
        self._combine()
        held, self._held, self._rows = self._held, [], 0
        for table in held:
            yield from self._cut(table)

    def _combine(self) -> None:
        table = concatenated(*self._held)
        if table is None:
            return
        if self._compiled.combines and len(self._held) > 1:
            table = self._compiled.combined(table)
        self._held, self._rows = [table], table.height

    def _cut(self, table: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        numbers = hashed(table, self._keys)
        if self._compiled.by_window:
            table = table.with_columns(shard=numbers % self._shards)
            parts = table.partition_by("shard", "start", "end", include_key=False, as_dict=True)
            for (shard, start, end), part in parts.items():
                window = None if start is None else (start, end)
                yield shard, Arrival(packed(part), part.height, window)
            return
        table = table.with_columns(
            shard=numbers % self._shards,
            bucket=(numbers // self._shards % BUCKETS).cast(pl.UInt8),
        )
        parts = table.partition_by("shard", include_key=False, as_dict=True)
        for (shard,), part in parts.items():
            yield shard, Arrival(packed(part), part.height)
