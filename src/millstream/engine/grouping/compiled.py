"""A grouping made ready to run: its trigger, accumulators and results as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from millstream.engine.grouping.accumulators import Accumulator
from millstream.engine.grouping.folding import accumulator
from millstream.engine.grouping.ordered_windows import OrderedWindows, ordered_windows_of
from millstream.engine.grouping.results import Results
from millstream.engine.grouping.slices import Slices
from millstream.engine.grouping.tables import Aggregated, State
from millstream.engine.grouping.triggers import Env, Moment, Node, StateColumn, compiled
from millstream.engine.grouping.windows import Windows, windows_of
from millstream.model.ordered_windows import Ordered
from millstream.model.windowing import Windowing
from millstream.model.windows import Sliding
from millstream.plan.finishing import Moment as FireMoment
from millstream.plan.finishing import fires, uses_clock

FLUSH = "flush"
"""The clock time after which the windows of a key end, complete or not."""
_FEW_WINDOWS = 8
_MANY_ROWS = 10_000


@dataclass(frozen=True)
class Compiled:
    """The answers to the four questions, as expressions over the tables of a ``State``.

    ``takes_retractions`` says that elements may be taken back, so that results can only be
    computed from the elements that are left; ``keeps_late`` that something reads rows that come
    too late, and not just their number.
    """

    windowing: Windowing
    keys: Sequence[str]
    aggregates: Sequence[Aggregated]
    takes_retractions: bool = False
    keeps_late: bool = True

    @cached_property
    def owner(self) -> list[str]:
        """The columns that name a pane."""
        return [*self.keys, *self.windows.identity]

    @cached_property
    def ordered(self) -> OrderedWindows | None:
        """The windows, if the order of rows makes them."""
        where = self.windowing.where
        return ordered_windows_of(where) if where.ordered else None

    @cached_property
    def windows(self) -> Windows:
        return self.ordered or windows_of(self.windowing.where)

    @cached_property
    def trigger(self) -> Node:
        return compiled(self.windowing.when)

    @cached_property
    def trigger_columns(self) -> list[StateColumn]:
        return list(self.trigger.columns())

    @cached_property
    def env(self) -> Env:
        """The trigger's state as it is in the table of panes."""
        return {column.name: pl.col(column.name) for column in self.trigger_columns}

    @cached_property
    def _folding(self) -> list[tuple[Aggregated, Accumulator | None]]:
        if self.takes_retractions:
            return [(a, None) for a in self.aggregates]
        return [(a, accumulator(a.aggregate, a.name, a.of)) for a in self.aggregates]

    @cached_property
    def accumulators(self) -> list[Accumulator]:
        return [folder for _, folder in self._folding if folder]

    @cached_property
    def results(self) -> Results:
        return Results(self.owner, self._folding)

    @cached_property
    def by_window(self) -> bool:
        """Whether windows are the same for all keys, so that state can be kept window by window."""
        return self.windows.are_buckets

    @cached_property
    def combines(self) -> bool:
        """Whether elements of a key and window can be made one before the state is known."""
        return (
            self.by_window
            and not self.results.keeps_elements
            and not self.keeps_late
            and self.windowing.timestamp == "end"
        )

    @cached_property
    def appends(self) -> bool:
        """Whether elements change nothing before the end of their window, and can wait for it.

        Where a pane has its latest element's time, each element may move the output watermark on.
        """
        trigger, timestamp = self.windowing.when, self.windowing.timestamp
        waits = fires(trigger) >= FireMoment.AT_END and not uses_clock(trigger)
        return self.by_window and waits and timestamp != "latest"

    @cached_property
    def slices(self) -> Slices | None:
        """The slices that windows share, where they do; otherwise each window has its own rows.

        They can share what they have until they end, if nothing happens in them before (see
        ``appends``): until then, all windows of a slice have all of its elements. Once a window has
        ended, it is one by itself, with its late elements. Elements must merge, and windows must
        overlap. A pane that has the time of an element depends on when that came, which a slice
        does not know.
        """
        where = self.windowing.where
        if not isinstance(where, Sliding) or where.size <= where.period:
            return None
        merge = self.appends and not self.results.keeps_elements
        return Slices(where) if merge and self.windowing.timestamp == "end" else None

    @cached_property
    def needed(self) -> set[str]:
        """The columns of a batch that results are made of."""
        inputs = {c for a in self.aggregates for c in (a.of, a.by) if c}
        return {*self.owner, "time", "sign", *inputs}

    def in_windows(self, batch: pl.DataFrame) -> pl.DataFrame:
        """A batch in its slices, or its windows, where these are the same for all keys."""
        if self.slices is not None:
            return batch.with_columns(slice=self.slices.number(pl.col("time")))
        return self.windows.assign(batch) if self.by_window else batch

    def combined(self, prepared: pl.DataFrame) -> pl.DataFrame:
        """Prepared batches as one: a row for each key and window, or slice, again."""
        merged = [e for a in self.accumulators for e in a.merged()]
        return self.grouped(prepared, [pl.col("new").sum(), *merged])

    def folded(
        self, elements: pl.DataFrame, *more: pl.Expr, few_groups: bool = False
    ) -> pl.DataFrame:
        """One row for each key and window, or slice: how many elements, and their accumulators."""
        single = [e for a in self.accumulators for e in a.of_element()]
        new = pl.len().cast(pl.Int64).alias("new")
        merged = [e for a in self.accumulators for e in a.merged()]
        return self.grouped(elements, [new, *more, *merged], single, few_groups=few_groups)

    def grouped(
        self,
        table: pl.DataFrame,
        aggregated: list[pl.Expr],
        before: Sequence[pl.Expr] = (),
        after: Sequence[pl.Expr] = (),
        few_groups: bool = False,
    ) -> pl.DataFrame:
        """The table by owner; by slice, or key, if its rows name no windows.

        The order of rows within a group counts, that of groups does not. Whether there are few
        groups does not change what comes out, only how soon.
        """
        owner = self.owner if "start" in table.columns else list(self.keys)
        owner = [*self.keys, "slice"] if "slice" in table.columns else owner
        # A window's start says its end.
        by = [name for name in owner if name != "end"] if self.by_window else owner
        rest = [pl.col("end").first()] if by != owner else []
        windows = [(table.lazy(), rest)]
        if by != owner and self.keys and table.height > _MANY_ROWS and not few_groups:
            firsts = table["start"].arg_unique()
            if len(firsts) <= _FEW_WINDOWS:
                # Many keys are grouped faster without windows; and what is filtered in the same
                # plan is copied only as far as it is needed.
                by = list(self.keys)
                found = table.select("start", "end")[firsts].rows()
                windows = [_in_window(table, start, end) for start, end in found]
        made = []
        for window, bounds in windows:
            rows = window.with_columns(before)
            # Without a key and without a window, all rows are one group.
            groups = rows.group_by(by).agg(*bounds, *aggregated) if by else rows.select(*aggregated)
            ordered = groups.select(*owner, pl.exclude(owner)) if owner else groups
            made.append(ordered.with_columns(after))
        return pl.concat(pl.collect_all(made), how="vertical_relaxed")

    def moment(self, state: State) -> Moment:
        """What the trigger may know of time."""
        end_passed = self.windows.ended(state.watermark, state.now)
        return Moment(end_passed, state.now, self.windowing.where.merging)

    def opened(self, state: State) -> list[pl.Expr]:
        """What is known of a window from when it was opened: when it is flushed at the latest."""
        where = self.windowing.where
        if not isinstance(where, Ordered) or where.flush is None:
            return []
        return [pl.lit(state.now + where.flush, pl.Int64).alias(FLUSH)]

    def too_late(self, state: State) -> pl.Expr:
        """Whether a window takes no elements because it has expired."""
        return self.expired(state) if self.ordered is None else pl.lit(False)

    def expired(self, state: State) -> pl.Expr:
        """Whether a window and all that it holds must go."""
        lateness = self.windowing.allowed_lateness
        return self.windows.expired(state.watermark, lateness, state.now)

    def timestamp(self) -> pl.Expr:
        """The event time that a pane carries."""
        end = pl.col("end") - 1
        return end if self.windowing.timestamp == "end" else pl.coalesce("stamp", end)

    def stamped(self, times: pl.Expr) -> pl.Expr:
        """The one of several event times that a pane is stamped with."""
        return times.max() if self.windowing.timestamp == "latest" else times.min()


def _in_window(
    table: pl.DataFrame, start: int | None, end: int | None
) -> tuple[pl.LazyFrame, list[pl.Expr]]:
    """The rows of one window, and its bounds for each group of them."""
    bounds = [pl.lit(start, pl.Int64).alias("start"), pl.lit(end, pl.Int64).alias("end")]
    return table.lazy().filter(pl.col("start").eq_missing(pl.lit(start, pl.Int64))), bounds
