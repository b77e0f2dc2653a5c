"""Where the rows of all keys go by their order: an object for each kind of such windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.engine.grouping.windows import Windows
from millstream.engine.operator import INDEX
from millstream.model.ordered_windows import Count
from millstream.model.windows import Window

_COUNT = pl.len().cast(pl.Int64).alias("rows")


class OrderedWindows(Windows):
    """The windows of each key, which ``sequences`` has a row for.

    There, windows whose indexes are below ``upto`` have ended; other columns are what the kind of
    windows knows of the rows since then. The row of a key is never removed: it has the index of
    the next window. Keys have at least one column.
    """

    @property
    def are_buckets(self) -> bool:
        return False

    @property
    def identity(self) -> tuple[str, ...]:
        return (INDEX,)

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("the windows of rows depend on those before them")

    def joins(self) -> pl.Expr:
        return pl.col(INDEX) == pl.col(f"other_{INDEX}")

    def bounds(self) -> list[pl.Expr]:
        return [pl.col("start").min(), pl.col("end").max()]

    def ended(self, watermark: int, now: int) -> pl.Expr:
        return pl.col("ended")

    def expired(self, watermark: int, allowed_lateness: int, now: int = 0) -> pl.Expr:
        return pl.col("ended")

    @abstractmethod
    def place(
        self, elements: pl.DataFrame, sequences: pl.DataFrame | None, keys: Sequence[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Elements in their order, once for each of their windows, and the sequences after them.

        An element has its window's index. One that is in no window comes once, with null.
        """

    @abstractmethod
    def fresh(self) -> list[pl.Expr]:
        """The columns of a sequence, besides ``upto``, when nothing is known of rows."""


@dataclass(frozen=True)
class CountWindows(OrderedWindows):
    """Sequences count the ``rows`` since a window was complete."""

    kind: Count

    def place(
        self, elements: pl.DataFrame, sequences: pl.DataFrame | None, keys: Sequence[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        size, slide = self.kind.size, self.kind.slide
        upto, rows = pl.col("upto"), pl.col("rows")
        counted = elements.group_by(keys).agg(pl.lit(0, pl.Int64).alias("upto"), _COUNT)
        known = counted.clear() if sequences is None else sequences
        after = pl.concat([known, counted]).group_by(keys).agg(upto.sum(), rows.sum())
        after = after.with_columns(upto + rows // slide, rows % slide)
        placed = elements.join(
            known, on=keys, how="left", nulls_equal=True, maintain_order="left"
        ).with_columns(upto.fill_null(0), rows.fill_null(0) + pl.int_range(pl.len()).over(keys))
        if size == slide:
            placed = placed.with_columns((upto + rows // slide).alias(INDEX))
        else:
            indexes = pl.int_ranges(upto + rows // slide, upto + (rows + size) // slide)
            placed = placed.with_columns(indexes.alias(INDEX)).explode(INDEX, empty_as_null=True)
        return placed.drop("upto", "rows"), after

    def fresh(self) -> list[pl.Expr]:
        return [pl.lit(0, pl.Int64).alias("rows")]


_KINDS: dict[type[Window], Callable[[Any], OrderedWindows]] = {Count: CountWindows}


def ordered_windows_of(kind: Window) -> OrderedWindows:
    """The windows of a kind."""
    if type(kind) not in _KINDS:
        raise TypeError(f"an unknown kind of windows: {kind!r}")
    return _KINDS[type(kind)](kind)


def in_order(elements: pl.DataFrame) -> pl.DataFrame:
    """Elements by event time, then by place: in an order that a repeated step repeats."""
    columns = ("time", "origin", "split", "offset")
    by = [name for name in columns if elements[name].n_unique() > 1]
    return elements.sort(by, maintain_order=True) if by else elements
