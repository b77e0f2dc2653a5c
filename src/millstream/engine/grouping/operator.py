"""GroupByKeyAndWindow in columns: one step takes a batch, the watermark and the clock.

A step has the meaning of ``reference/grouping.py``: a bundle merges windows, adds all its elements
and asks each touched window's trigger once; then the watermark and the clock ask each window whose
timer is due once. It is a pure function of its inputs: no clock, no I/O, and the order of the
batch's rows changes no result.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.firing import Firing
from millstream.engine.grouping.intake import Intake
from millstream.engine.grouping.tables import Aggregated, Output, State, concatenated, without
from millstream.model.instants import END_OF_TIME
from millstream.model.windowing import Windowing


class Grouping:
    """One grouping of a program.

    A batch has the key columns, ``time`` (microseconds), ``sign`` (1, or -1 for a retraction) and
    the aggregates' input columns; what else it has goes through to the late output. It may also
    have been prepared by a ``Scatter``.
    """

    def __init__(
        self,
        windowing: Windowing,
        keys: Sequence[str],
        aggregates: Sequence[Aggregated],
        takes_retractions: bool = False,
        keeps_late: bool = True,
    ) -> None:
        self.compiled = Compiled(windowing, keys, aggregates, takes_retractions, keeps_late)
        self._intake = Intake(self.compiled)
        self._firing = Firing(self.compiled)

    def step(
        self, state: State, batch: pl.DataFrame | None, watermark: int, now: int
    ) -> tuple[State, Output]:
        """What a batch, a watermark and a clock make of the state, and what they let out."""
        output = Output()
        clock, state = state.now, replace(state, now=max(state.now, now))
        if batch is not None and batch.height:
            state = self._intake.take(state, batch, output)
            state = self._firing.ask(state, pl.col("joined") > 0, output, order=0)
        if watermark > state.watermark:
            state = self._advance_watermark(state, watermark, output)
        if state.now > clock:
            due = self.compiled.trigger.due(self.compiled.env, clock, state.now)
            state = self._firing.ask(state, due, output, order=2)
        return replace(state, output_watermark=self._output_watermark(state)), output

    def final_panes(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """The one pane of each key and window that fires at its end and expires with that.

        The tables are prepared batches, all that came for these windows; nothing of them is kept.
        """
        compiled = self.compiled
        folded = [table for table in tables if "new" in table.columns]
        rest = concatenated(*(table for table in tables if "new" not in table.columns))
        if rest is not None:
            folded.append(compiled.folded(rest))
        panes = compiled.combined(pl.concat(folded, how="diagonal_relaxed"))
        told = panes.with_columns(
            index=pl.lit(0, pl.Int64),
            timing=pl.lit("ON_TIME"),
            first=pl.lit(True),
            last=pl.lit(True),
            timestamp=pl.col("end") - 1,
        )
        return compiled.results.of(told, None).with_columns(order=pl.lit(1))

    def _advance_watermark(self, state: State, watermark: int, output: Output) -> State:
        before, state = state.watermark, replace(state, watermark=watermark)
        if state.panes is None or (state.panes["end"] > watermark).all():
            return state  # no window ends, and none expires before it has ended
        expired = self.compiled.expired(state)
        passing = (pl.col("end") > before) & (pl.col("end") <= watermark)
        state = self._firing.ask(state, passing | expired, output, order=1, moved_from=before)
        if state.panes is None:
            return state
        gone = state.panes.filter(expired)
        return replace(
            state,
            panes=state.panes.filter(~expired),
            elements=without(state.elements, gone, self.compiled.owner),
            emitted=without(state.emitted, gone, self.compiled.owner),
        )

    def _output_watermark(self, state: State) -> int:
        """As far as the input has come, held back by what is still to be emitted behind it."""
        holds = [state.watermark]
        if state.panes is not None:
            holds += state.panes.select(self.holds().min()).to_series().to_list()
        if state.emitted is not None:
            owed = state.emitted.filter(self.owed())
            holds += owed.select(pl.col("timestamp").min()).to_series().to_list()
        return max(state.output_watermark, min(hold for hold in holds if hold is not None))

    def holds(self) -> pl.Expr:
        """The timestamps of panes that are still to come on time."""
        waiting = (pl.col("new") > 0) & (pl.col("arrived") < pl.col("end"))
        return self.compiled.timestamp().filter(waiting)

    def owed(self) -> pl.Expr:
        """Which emitted panes of merged sessions are still to be taken back."""
        return (pl.col("start") != pl.col("of_start")) | (pl.col("end") != pl.col("of_end"))

    def wakes(self, state: State) -> pl.Expr:
        """The watermark at which something happens in a window: its end, then its expiry."""
        lateness, end = self.compiled.windowing.allowed_lateness, pl.col("end")
        expiry = end.clip(upper_bound=END_OF_TIME - lateness) + lateness
        return pl.when(end > state.watermark).then(end).otherwise(expiry)

    def due(self, state: State) -> pl.Expr:
        """The least deadline among windows that the clock has not passed."""
        columns = [c.name for c in self.compiled.trigger_columns if c.name.endswith(".until")]
        if not columns:
            return pl.lit(None, pl.Int64)
        ahead = [pl.col(name).filter(pl.col(name) >= state.now).min() for name in columns]
        return pl.min_horizontal(ahead)
