"""The slices of sliding windows: what lies between two edges of windows, which many windows share.

An edge is where a window starts or ends. So a slice is inside of a window or outside of it, never
half of it, and all elements of a slice are in the same windows.
"""

from __future__ import annotations

from dataclasses import dataclass
from math import isqrt

import polars as pl

from millstream.engine.grouping.windows import ending_after
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.windows import Sliding


@dataclass(frozen=True)
class Slices:
    """The numbers of slices, and of the windows that they are in.

    There are as many slices in a period as there are edges in it: one if the period divides the
    size, otherwise two. Window ``w`` starts ``w`` periods after the offset, and has the slices from
    ``w * edges`` on, ``across`` in number.
    """

    kind: Sliding

    @property
    def edges(self) -> int:
        """How many slices a period has."""
        return 2 if self.kind.size % self.kind.period else 1

    @property
    def across(self) -> int:
        """How many slices a window has."""
        whole, rest = divmod(self.kind.size, self.kind.period)
        return whole * self.edges + (1 if rest else 0)

    @property
    def level(self) -> int:
        """A stretch has two to the power of this many slices; a window about as many stretches."""
        return isqrt(self.across - 1).bit_length()

    def number(self, time: pl.Expr) -> pl.Expr:
        """The slice that an event time is in."""
        since = time - self.kind.offset
        period = since // self.kind.period
        if self.edges == 1:
            return period
        rest = self.kind.size % self.kind.period
        return period * 2 + (since % self.kind.period >= rest).cast(pl.Int64)

    def oldest(self, slice: int) -> int:
        """The first window that a slice is in."""
        return (slice - self.across) // self.edges + 1

    def newest(self, slice: int) -> int:
        """The last window that a slice is in."""
        return slice // self.edges

    def ended(self, watermark: int) -> int:
        """The last window that ends at or before a watermark."""
        if watermark >= END_OF_TIME:  # where all windows end that would end later
            return END_OF_TIME
        ended = (watermark - self.kind.size - self.kind.offset) // self.kind.period
        return max(ended, START_OF_TIME)  # which a column can hold

    def live(self, slices: pl.Series, watermark: int) -> pl.Series:
        """Those of the slices that are in a window which ends after the watermark."""
        return slices.filter(slices // self.edges > self.ended(watermark))

    def next_end(self, slice: int, watermark: int) -> int:
        """The first end of a window, after the watermark, of those that a live slice is in."""
        window = max(self.oldest(slice), self.ended(watermark) + 1)
        end = self.kind.offset + window * self.kind.period + self.kind.size
        return min(end, END_OF_TIME)

    def bounds(self, rows: pl.DataFrame) -> pl.DataFrame:
        """Rows with the number of a ``window``, with its ``start`` and ``end`` instead."""
        start = pl.col("window") * self.kind.period + self.kind.offset
        return ending_after(self.kind.size, rows.with_columns(start=start).drop("window"))

    def in_ended(self, rows: pl.DataFrame, watermark: int) -> pl.DataFrame:
        """The rows, once for each of their windows that have ended, with its ``start`` and ``end``.

        They are few: such rows came behind the watermark.
        """
        slice, ended = pl.col("slice"), self.ended(watermark)
        oldest = (slice - self.across) // self.edges + 1
        behind = rows.filter(oldest <= ended)
        last = (slice // self.edges).clip(upper_bound=ended)
        windows = pl.int_ranges(oldest, last + 1, dtype=pl.Int64)
        repeated = behind.with_columns(window=windows).explode("window", empty_as_null=True)
        return self.bounds(repeated.drop("slice"))
