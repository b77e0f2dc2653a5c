"""How the windows of a grouping share slices until they end."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.slice_tree import SliceTree
from millstream.engine.grouping.slices import Slices
from millstream.engine.tables import rows_of


@dataclass(frozen=True)
class WindowSharing:
    """The ``Sharing`` of a grouping in sliding windows."""

    compiled: Compiled
    slices: Slices

    @property
    def keys(self) -> Sequence[str]:
        return self.compiled.keys

    def combined(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """A row for each key and slice."""
        return self.compiled.combined(rows_of(tables))

    def apart(self, rows: pl.DataFrame, made: int) -> pl.DataFrame:
        """The rows in their windows that have ended: these are expired, or emit late panes."""
        return self.slices.in_ended(rows, made)

    def shared(self, rows: pl.DataFrame, made: int) -> dict[int, pl.DataFrame]:
        """The rows in slices of windows that have not ended."""
        live = rows.filter(pl.col("slice") // self.slices.edges > self.slices.ended(made))
        if not live.height:
            return {}
        if "new" not in live.columns:
            live = self.compiled.folded(live)
        live = live.with_columns(stretch=pl.col("slice") // 2**self.slices.level)
        parts = live.partition_by("stretch", as_dict=True, include_key=False, maintain_order=True)
        return {int(stretch): part for (stretch,), part in sorted(parts.items())}

    def wakes(self, slices: pl.Series, made: int) -> int | None:
        """The next end of a window."""
        first = self.slices.live(slices, made).min()
        return None if first is None else self.slices.next_end(int(first), made)  # type: ignore[arg-type] # of a column of integers

    def first_slice(self, stretch: int) -> int:
        return stretch << self.slices.level

    def waking(self, stretches: Sequence[int], made: int, watermark: int) -> range:
        """The windows that end."""
        slices, oldest, newest = self.slices, min(stretches), max(stretches)
        first = max(slices.ended(made) + 1, slices.oldest(self.first_slice(oldest)))
        last = slices.newest(self.first_slice(newest + 1) - 1)
        return range(first, min(last, slices.ended(watermark)) + 1)

    def is_cut(self, stretch: int, buckets: range) -> bool:
        """Whether an edge is inside of a stretch."""
        edges, across = self.slices.edges, self.slices.across
        begin, end = self.first_slice(stretch), self.first_slice(stretch + 1)
        # The first edges after its begin: of a window that starts, and of one that ends.
        starts = max(buckets.start, begin // edges + 1)
        ends = max(buckets.start, (begin - across) // edges + 1)
        if starts <= buckets.stop and starts * edges < end:
            return True
        return ends < buckets.stop and ends * edges + across < end

    def whole(self, stretch: int, rows: pl.DataFrame) -> pl.DataFrame:
        """A row for each key; its slice is the number of the stretch."""
        return self.compiled.combined(rows.with_columns(slice=pl.lit(stretch, pl.Int64)))

    def given(
        self, slices: Sequence[pl.DataFrame], wholes: Sequence[pl.DataFrame], buckets: range
    ) -> Iterator[pl.DataFrame]:
        """The panes of these windows."""
        tables = {0: slices, self.slices.level: wholes}
        levels = {level: rows_of(some) for level, some in tables.items() if some}
        return SliceTree(self.compiled, self.slices, levels).panes(buckets)
