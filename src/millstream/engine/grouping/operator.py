"""GroupByKeyAndWindow in columns: one step takes a batch, the watermark and the clock.

A step has the meaning of ``reference/grouping.py``: a bundle merges windows, adds all its elements
and asks each touched window's trigger once; then the watermark and the clock ask each window whose
timer is due once. The order of the batch's rows changes no result.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import replace

import polars as pl

from millstream.engine.grouping.compiled import FLUSH, Compiled
from millstream.engine.grouping.deferral import WindowDeferral
from millstream.engine.grouping.firing import Firing
from millstream.engine.grouping.intake import Intake
from millstream.engine.grouping.tables import Aggregated, State
from millstream.engine.operator import (
    BY_KEY,
    BY_WINDOW,
    INDEX,
    ROWS,
    Advance,
    BucketName,
    Facts,
    Outputs,
    Stepped,
    Tables,
    facts_of,
    least,
)
from millstream.engine.tables import concatenated, without
from millstream.model.clock_windows import ByClock
from millstream.model.instants import END_OF_TIME
from millstream.model.windowing import Windowing


class Grouping:
    """One grouping of a program.

    A batch has the key columns, ``time`` (microseconds), ``sign`` (1, or -1 for a retraction) and
    the aggregates' input columns; other columns are passed on to the late output. It may also have
    been prepared by a ``Scatter``. All of its state is one bucket, unless ``bucket`` names columns.
    """

    order = ("order", "end")
    """Panes of the batch, of the watermark, of the clock; each by the ends of their windows."""

    def __init__(
        self,
        windowing: Windowing,
        keys: Sequence[str],
        aggregates: Sequence[Aggregated],
        takes_retractions: bool = False,
        keeps_late: bool = True,
        bucket: tuple[str, ...] = (),
    ) -> None:
        self.compiled = Compiled(windowing, keys, aggregates, takes_retractions, keeps_late)
        self.bucket = bucket
        self.deferral = WindowDeferral(self.compiled) if self.compiled.appends and bucket else None
        self._intake = Intake(self.compiled)
        self._firing = Firing(self.compiled)

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """What a batch, a watermark and a clock make of the state, and what is emitted."""
        outputs: Outputs = defaultdict(list)
        state = State.of(tables, advance.watermark_before, advance.now)
        batch = batches.get(ROWS)
        if batch is not None and batch.height:
            state = self._take(state, batch, outputs)
        if advance.watermark > state.watermark:
            state = self._advance_watermark(state, advance.watermark, outputs)
        if advance.now > advance.now_before:
            state = self._advance_clock(state, advance.now_before, outputs)
        return Stepped(state.tables, outputs, self._facts(state))

    def _take(self, state: State, batch: pl.DataFrame, outputs: Outputs) -> State:
        state = self._intake.take(state, batch, outputs)
        if self.compiled.ordered is None:
            return self._firing.ask(state, pl.col("joined") > 0, outputs, order=0)
        touched = (pl.col("joined") > 0) | pl.col("ended")
        return self._without_expired(self._firing.ask(state, touched, outputs, order=0))

    def _advance_watermark(self, state: State, watermark: int, outputs: Outputs) -> State:
        before, state = state.watermark, replace(state, watermark=watermark)
        if not self.compiled.windowing.where.by_watermark:
            if watermark < END_OF_TIME:
                return state
            state = self._flushed(state, pl.lit(True))
            state = self._firing.ask(state, pl.lit(True), outputs, order=1)
            return self._without_expired(state)
        if state.panes is None or (state.panes["end"] > watermark).all():
            return state  # no window ends, and none expires before it has ended
        expired = self.compiled.expired(state)
        passing = (pl.col("end") > before) & (pl.col("end") <= watermark)
        state = self._firing.ask(state, passing | expired, outputs, order=1, moved_from=before)
        return self._without_expired(state)

    def _advance_clock(self, state: State, before: int, outputs: Outputs) -> State:
        due = self.compiled.trigger.due(self.compiled.env, before, state.now)
        if self.compiled.opened(state) and self._any_flushed(state):
            first = pl.col(FLUSH).min().over(self.compiled.keys)
            state = self._flushed(state, first < state.now)
        if self.compiled.windowing.where.uses_clock:
            due = due | self.compiled.expired(state)
        return self._without_expired(self._firing.ask(state, due, outputs, order=2))

    def _any_flushed(self, state: State) -> bool:
        panes = state.panes
        return panes is not None and bool((panes[FLUSH] < state.now).any())

    def _flushed(self, state: State, who: pl.Expr) -> State:
        """The state where windows have ended, complete or not; the next rows begin new ones."""
        ordered, keys = self.compiled.ordered, self.compiled.keys
        if ordered is None or state.panes is None or not state.panes.height:
            return state
        panes = state.panes.with_columns(ended=who)
        upto = pl.col(INDEX).max() + 1
        restarted = panes.filter("ended").group_by(keys).agg(upto.alias("upto"))
        others = without(state.sequences, restarted, list(keys))
        sequences = concatenated(others, restarted.with_columns(ordered.fresh()))
        return replace(state, panes=panes, sequences=sequences)

    def _without_expired(self, state: State) -> State:
        if state.panes is None:
            return state
        expired = self.compiled.expired(state)
        gone = state.panes.filter(expired)
        return replace(
            state,
            panes=state.panes.filter(~expired),
            elements=without(state.elements, gone, self.compiled.owner),
            emitted=without(state.emitted, gone, self.compiled.owner),
        )

    def _facts(self, state: State) -> dict[BucketName, Facts]:
        facts = facts_of(
            state.panes,
            self.bucket,
            wakes=self._wakes(state).min(),
            due=self._due(state),
            holds=self._holds().min(),
        )
        # Emitted panes of merged sessions that are still to be taken back hold the watermark, too.
        # Windows that the order of rows makes grow, and take back what they have emitted.
        owed = (pl.col("start") != pl.col("of_start")) | (pl.col("end") != pl.col("of_end"))
        owed = owed | pl.lit(self.compiled.ordered is not None)
        back = None if state.emitted is None else state.emitted.filter(owed)
        for name, more in facts_of(back, self.bucket, holds=pl.col("timestamp").min()).items():
            known = facts.get(name, Facts())
            facts[name] = known._replace(holds=least(known.holds, more.holds))
        return facts

    def _holds(self) -> pl.Expr:
        """The timestamps of panes that are still to come on time."""
        waiting = pl.col("new") > 0
        if self.compiled.windowing.where.by_watermark:
            waiting = waiting & (pl.col("arrived") < pl.col("end"))
        return self.compiled.timestamp().filter(waiting)

    def _wakes(self, state: State) -> pl.Expr:
        """The watermark at which something happens in a window: its end, then its expiry."""
        if not self.compiled.windowing.where.by_watermark:
            return pl.lit(END_OF_TIME)  # only the end of the input
        lateness, end = self.compiled.windowing.allowed_lateness, pl.col("end")
        expiry = end.clip(upper_bound=END_OF_TIME - lateness) + lateness
        return pl.when(end > state.watermark).then(end).otherwise(expiry)

    def _due(self, state: State) -> pl.Expr | None:
        """The least deadline among windows that the clock has not passed."""
        columns = [c.name for c in self.compiled.trigger_columns if c.name.endswith(".until")]
        columns += [FLUSH] if self.compiled.opened(state) else []
        deadlines = [pl.col(name) for name in columns]
        if isinstance(self.compiled.windowing.where, ByClock):
            deadlines.append(pl.col("end") - 1)  # the clock is later than that when it is there
        if not deadlines:
            return None
        ahead = [each.filter(each >= state.now).min() for each in deadlines]
        return pl.min_horizontal(ahead)


def sharded(
    windowing: Windowing,
    keys: Sequence[str],
    aggregates: Sequence[Aggregated],
    takes_retractions: bool = False,
    keeps_late: bool = True,
) -> Grouping:
    """A grouping whose state a shard can keep, in buckets."""
    options = takes_retractions, keeps_late
    grouping = Grouping(windowing, keys, aggregates, *options, bucket=BY_WINDOW)
    if grouping.compiled.by_window:
        return grouping
    return Grouping(windowing, [*BY_KEY, *keys], aggregates, *options, bucket=BY_KEY)
