"""Where the rows of all keys go by their order: an object for each kind of such windows."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
import polars as pl

from millstream.engine.grouping.windows import Windows
from millstream.engine.operator import INDEX
from millstream.engine.tables import concatenated, looked_up, without
from millstream.model.ordered_windows import Count, Delta, Marked
from millstream.model.windows import Window

_ATTRIBUTE = pl.col("attribute")


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
        ones = pl.repeat(1, elements.height, dtype=pl.Int64, eager=True)
        before, after = _counted(elements, sequences, keys, ones, slide)
        upto, rows = pl.col("upto"), pl.col("rows")
        if size == slide:
            return elements.with_columns(before.select((upto + rows // slide).alias(INDEX))), after
        indexes = pl.int_ranges(upto + rows // slide, upto + (rows + size) // slide)
        placed = elements.with_columns(before.select(indexes.alias(INDEX)))
        return placed.explode(INDEX, empty_as_null=True), after

    def fresh(self) -> list[pl.Expr]:
        return [pl.lit(0, pl.Int64).alias("rows")]


@dataclass(frozen=True)
class DeltaWindows(OrderedWindows):
    """Sequences have the attribute of the ``first`` row of the window that has one."""

    kind: Delta

    def place(
        self, elements: pl.DataFrame, sequences: pl.DataFrame | None, keys: Sequence[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        attribute = elements.select(*keys, _ATTRIBUTE.cast(pl.Float64)).with_row_index("row")
        rows = _with_known(attribute, sequences, keys, self.fresh())
        groups = rows.group_by(keys, maintain_order=True).agg(
            pl.col("row"), _ATTRIBUTE, pl.col("upto", "first").first()
        )
        made = [self._scanned(*each) for each in groups.select("attribute", "upto", "first").rows()]
        groups = groups.with_columns(
            pl.Series(INDEX, [indexes for indexes, _, _ in made], pl.List(pl.Int64)),
            pl.Series("upto", [upto for _, upto, _ in made], pl.Int64),
            pl.Series("first", [first for _, _, first in made], pl.Float64),
        )
        indexes = groups.select("row", INDEX).explode("row", INDEX).sort("row")
        after = groups.select(*keys, "upto", "first")
        return elements.with_columns(indexes[INDEX]), _updated(sequences, after, keys)

    def _scanned(
        self, values: list[float | None], index: int, first: float | None
    ) -> tuple[list[int], int, float | None]:
        """The windows of a key's rows one after another, then the last of them and its first."""
        indexes, threshold = [], self.kind.threshold
        for value in values:
            if value is not None and value == value:  # NaN is not
                if first is None:
                    first = value
                elif abs(value - first) >= threshold:
                    first, index = value, index + 1
            indexes.append(index)
        return indexes, index, first

    def fresh(self) -> list[pl.Expr]:
        return [pl.lit(None, pl.Float64).alias("first")]


@dataclass(frozen=True)
class MarkedWindows(OrderedWindows):
    """Sequences count marked ``rows``, each of which ends a window: so there are none since."""

    kind: Marked

    def place(
        self, elements: pl.DataFrame, sequences: pl.DataFrame | None, keys: Sequence[str]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        marked = elements.select(_ATTRIBUTE.cast(pl.Boolean).fill_null(False).cast(pl.Int64))
        before, after = _counted(elements, sequences, keys, marked.to_series(), 1)
        index = before.select((pl.col("upto") + pl.col("rows")).alias(INDEX))
        return elements.with_columns(index), after

    def fresh(self) -> list[pl.Expr]:
        return [pl.lit(0, pl.Int64).alias("rows")]


def _counted(
    elements: pl.DataFrame,
    sequences: pl.DataFrame | None,
    keys: Sequence[str],
    amounts: pl.Series,
    slide: int,
) -> tuple[pl.DataFrame, pl.DataFrame]:
    """``upto`` and ``rows`` of each element's sequence just before it, and all sequences after.

    Elements count by their ``amounts``, and every ``slide`` of these end a window.
    """
    upto, rows, new = pl.col("upto"), pl.col("rows"), pl.col("new")
    zero = pl.lit(0, pl.Int64)
    arrived = elements.select(keys).with_columns(amounts.alias("new"))
    counts = [arrived.group_by(keys).agg(zero.alias("upto"), zero.alias("rows"), new.sum())]
    counts += [] if sequences is None else [sequences.with_columns(new=zero)]
    groups = pl.concat(counts).group_by(keys).agg(upto.sum(), rows.sum(), new.sum())
    groups = groups.with_row_index("group")
    mine = looked_up(elements.select(keys), groups, keys)
    before = _running(mine["group"].to_numpy(), amounts.to_numpy())
    after = groups.select(*keys, upto + (rows + new) // slide, (rows + new) % slide)
    return mine.select(upto, rows + pl.Series(before)), after


def _running(groups: np.ndarray, amounts: np.ndarray) -> np.ndarray:
    """The sum of the amounts before each one, in its group.

    Polars' ``over`` does the same, but takes several times as long.
    """
    order = np.argsort(groups, kind="stable")
    ordered, in_order = groups[order], amounts[order]
    sums = np.cumsum(in_order) - in_order
    starts = np.flatnonzero(np.diff(ordered, prepend=-1))
    lengths = np.diff(starts, append=len(ordered))
    running = np.empty(len(ordered), np.int64)
    running[order] = sums - np.repeat(sums[starts], lengths)
    return running


def _with_known(
    rows: pl.DataFrame, sequences: pl.DataFrame | None, keys: Sequence[str], fresh: list[pl.Expr]
) -> pl.DataFrame:
    """The rows with what is known of the sequences of their keys, which may be new."""
    if sequences is None:
        return rows.with_columns(pl.lit(0, pl.Int64).alias("upto"), *fresh)
    known = looked_up(rows, sequences, keys)
    return known.with_columns(pl.col("upto").fill_null(0))


def _updated(
    sequences: pl.DataFrame | None, after: pl.DataFrame, keys: Sequence[str]
) -> pl.DataFrame:
    """All sequences, with those that have changed."""
    all_rows = concatenated(without(sequences, after, list(keys)), after)
    assert all_rows is not None
    return all_rows


_KINDS: dict[type[Window], Callable[[Any], OrderedWindows]] = {
    Count: CountWindows,
    Delta: DeltaWindows,
    Marked: MarkedWindows,
}


def ordered_windows_of(kind: Window) -> OrderedWindows:
    """The windows of a kind."""
    if type(kind) not in _KINDS:
        raise TypeError(f"an unknown kind of windows: {kind!r}")
    return _KINDS[type(kind)](kind)
