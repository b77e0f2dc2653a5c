"""How the rows of a grouping wait for the end of their window, where nothing happens before it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.sharing import WindowSharing
from millstream.engine.operator import Advance, BucketName, least
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.tables import concatenated, rows_of
from millstream.model.instants import START_OF_TIME


@dataclass(frozen=True)
class WindowDeferral:
    """The ``Deferral`` of a grouping whose windows are the same for all keys."""

    compiled: Compiled

    @property
    def keys(self) -> Sequence[str]:
        return self.compiled.keys

    @property
    def sharing(self) -> WindowSharing | None:
        slices = self.compiled.slices
        return None if slices is None else WindowSharing(self.compiled, slices)

    def until(self, bucket: BucketName) -> int:
        """The end of the window; rows in no window do not wait, they are late."""
        return START_OF_TIME if bucket[1] is None else bucket[1]

    def trimmed(self, blob: bytes) -> bytes:
        """The rows without columns that only the late output has a use for."""
        if not self.compiled.keeps_late:
            return blob
        table = unpacked(blob)
        return packed(table.select(c for c in table.columns if c in self.compiled.needed))

    def holds(self, bucket: BucketName, blob: bytes, watermark: int) -> int | None:
        """The window's end, or the earliest time among rows that are not behind the watermark."""
        end = self.until(bucket)
        if self.compiled.windowing.timestamp == "end":
            return end - 1
        times = unpacked(blob)["time"]
        earliest = times.filter(times >= watermark).min()
        return least(end - 1, earliest)  # type: ignore[arg-type] # of a column of integers

    def combined(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame | None:
        """A row for each key, if all parts were combined before the shuffle.

        A program may have been changed to combine or not, while batches of both kinds wait.
        """
        if self.compiled.combines and all("new" in table.columns for table in tables):
            return self.compiled.combined(rows_of(tables))
        return None

    def is_final(self, bucket: BucketName, advance: Advance) -> bool:
        """Whether its window ends on time and expires with that, in this step."""
        compiled, end = self.compiled, self.until(bucket)
        if compiled.takes_retractions or compiled.windowing.timestamp != "end":
            return False
        expired = max(advance.watermark - compiled.windowing.allowed_lateness, START_OF_TIME)
        return advance.watermark_before < end <= expired

    def final(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The one pane of each key and window."""
        compiled = self.compiled
        folded = [table for table in tables if "new" in table.columns]
        rest = concatenated(*(table for table in tables if "new" not in table.columns))
        if rest is not None:
            folded.append(compiled.folded(rest))
        combined = compiled.combined(pl.concat(folded, how="diagonal_relaxed"))
        return self._panes(combined, rest if compiled.results.keeps_elements else None)

    def emitted(self, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows as panes."""
        return self._panes(rows)

    def _panes(self, rows: pl.DataFrame, elements: pl.DataFrame | None = None) -> pl.DataFrame:
        shown = rows.with_columns(
            index=pl.lit(0, pl.Int64),
            timing=pl.lit("ON_TIME"),
            first=pl.lit(True),
            last=pl.lit(True),
            timestamp=pl.col("end") - 1,
        )
        return self.compiled.results.of(shown, elements).with_columns(order=pl.lit(1))
