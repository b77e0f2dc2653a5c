"""Rows on their way to the shards of an operator whose buckets are parts of the keys."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from millstream.engine.exchange.hashing import hashed
from millstream.engine.operator import BUCKETS, ROWS
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.blobs import packed
from millstream.engine.tables import rows_of

_MOST_ROWS = 500_000


class ByKey:
    """Sends each row as it is to the shard and the bucket that its key belongs to."""

    def __init__(self, keys: Sequence[str], shards: int, port: str = ROWS) -> None:
        self._keys = list(keys)
        self._shards = shards
        self._port = port
        self._given: list[pl.DataFrame] = []

    def take(self, batch: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        """Takes some rows; gives arrivals once there are many."""
        if batch.height:
            self._given.append(batch)
        if sum(table.height for table in self._given) >= _MOST_ROWS:
            yield from self.rest()

    def rest(self) -> Iterator[tuple[int, Arrival]]:
        """The arrivals of all rows that are left."""
        given, self._given = self._given, []
        if not given:
            return
        table = rows_of(given)
        numbers = hashed(table, self._keys)
        bucket = (numbers // self._shards % BUCKETS).cast(pl.UInt8)
        table = table.with_columns(shard=numbers % self._shards, bucket=bucket)
        parts = table.partition_by("shard", include_key=False, as_dict=True, maintain_order=True)
        for (shard,), rows in parts.items():
            yield int(shard), Arrival(packed(rows), rows.height, port=self._port)
