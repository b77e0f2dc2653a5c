"""The rows that buckets of a shard share, in stretches: what a bucket has is merged when it wakes.

A stretch is stored like a bucket. Rows are added to it as parts, unread. Where buckets that wake
have all of a stretch, its slices are also stored as one. So these buckets read little: a few
stretches at either end of them, and of each one in between a single row for each key.
"""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl

from millstream.engine.operator import Sharing
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket
from millstream.engine.state.parts import Parts
from millstream.engine.state.store import OperatorState, table_name

_SLICES, _WHOLE = "slices", "whole"


class Stretches:
    """The stretches of an operator in one shard."""

    def __init__(self, sharing: Sharing, state: OperatorState) -> None:
        self._sharing = sharing
        self._state = state
        self._shared = state.clocks.shared
        self._parts = Parts(sharing, ("stretch",), state)
        self._stretches = {int(bucket.name[0] or 0): bucket for bucket in self._shared.stretches}

    @property
    def _made(self) -> int:
        """An operator may have begun to share when its watermark had already moved."""
        return max(self._shared.made, self._state.clocks.watermark)

    def add(self, arrival: Arrival) -> pl.DataFrame:
        """Adds what has arrived; returns the rows for buckets that have woken, once for each."""
        rows, made = unpacked(arrival.blob), self._made
        for number, mine in self._sharing.shared(rows, made).items():
            stretch = self._stretches.setdefault(number, Bucket((number,)))
            part = Arrival(packed(mine), mine.height, port=arrival.port)
            self._parts.put(stretch, part, part.blob)
            wakes = self._sharing.wakes(mine["slice"], made)
            assert wakes is not None
            self._sleep(stretch, min(stretch.wakes, wakes))
        self._shared.stretches = list(self._stretches.values())
        return self._sharing.apart(rows, made)

    def give(self, watermark: int) -> Iterator[pl.DataFrame]:
        """The rows of all buckets that wake up to a watermark, with their names."""
        sharing, made = self._sharing, self._made
        self._shared.made = max(made, watermark)
        awake = sorted(n for n, stretch in self._stretches.items() if stretch.wakes <= watermark)
        if not awake:
            return iter(())
        buckets = sharing.waking(awake, made, watermark)
        slices: list[pl.DataFrame] = []
        wholes: list[pl.DataFrame] = []
        for number in awake:
            stretch = self._stretches[number]
            if sharing.is_cut(number, buckets):
                tables = self._read(stretch)
                slices += tables
                known = pl.concat([table["slice"] for table in tables])
            else:
                wholes.append(self._whole(number, stretch))
                known = pl.Series([sharing.first_slice(number)], dtype=pl.Int64)
            wakes = sharing.wakes(known, self._shared.made)
            if wakes is None:
                self._remove(self._stretches.pop(number))
            else:
                self._sleep(stretch, wakes)
        self._shared.stretches = [self._stretches[number] for number in sorted(self._stretches)]
        return sharing.given(slices, wholes, buckets)

    def _sleep(self, stretch: Bucket, until: int) -> None:
        """Lets a stretch wait until its next window ends, which holds the output watermark."""
        stretch.wakes, stretch.holds = until, until - 1

    def _read(self, stretch: Bucket) -> list[pl.DataFrame]:
        """The slices of a stretch; of one there may be rows in several tables."""
        tables = [part.rows for part in self._parts.of(stretch)]
        return tables + ([self._table(stretch, _SLICES)] if _SLICES in stretch.tables else [])

    def _whole(self, number: int, stretch: Bucket) -> pl.DataFrame:
        """All slices of a stretch as one, which is stored if it is new."""
        if _WHOLE in stretch.tables and not stretch.lanes:
            return self._table(stretch, _WHOLE)
        slices = self._sharing.combined(self._read(stretch))
        assert slices is not None
        tables = {_SLICES: slices, _WHOLE: self._sharing.whole(number, slices)}
        blobs = {name: packed(table) for name, table in tables.items()}
        for name, blob in blobs.items():
            self._state.write(table_name(stretch.name, name), blob)
        self._parts.remove(stretch)
        stretch.tables = sorted(tables)
        stretch.rows = sum(table.height for table in tables.values())
        stretch.size = sum(map(len, blobs.values()))
        return tables[_WHOLE]

    def _remove(self, stretch: Bucket) -> None:
        self._parts.remove(stretch)
        for name in stretch.tables:
            self._state.remove(table_name(stretch.name, name))

    def _table(self, stretch: Bucket, name: str) -> pl.DataFrame:
        return unpacked(self._state.read(table_name(stretch.name, name)))
