"""Asks triggers, and emits panes where they fire or their window expires."""

from __future__ import annotations

from dataclasses import dataclass, replace

import polars as pl

from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.tables import State
from millstream.engine.operator import ROWS, Outputs
from millstream.engine.tables import without
from millstream.model.refinements import Refinement


@dataclass(frozen=True)
class Firing:
    """The second half of a step."""

    grouping: Compiled

    def ask(
        self,
        state: State,
        who: pl.Expr,
        outputs: Outputs,
        order: int,
        moved_from: int | None = None,
    ) -> State:
        """Asks the trigger of each window that ``who`` is true for, once.

        ``order`` is the place of this asking in the step; ``moved_from`` is where the watermark
        was, if it is the watermark's move that asks.
        """
        if state.panes is None:
            return state
        grouping, moment = self.grouping, self.grouping.moment(state)
        asked = who & ~pl.col("closed")
        fires = asked & grouping.trigger.should_fire(grouping.env, moment)
        expires = asked & grouping.expired(state)
        nobody = pl.lit(0, pl.Int64).alias("joined")
        if not state.panes.select((fires | expires).any()).item():
            return replace(state, panes=state.panes.with_columns(nobody))
        panes = (
            state.panes.lazy()
            .with_columns(nobody, fires=fires, expires=expires, acts=fires | expires)
            .with_columns(**grouping.trigger.on_fire(grouping.env, pl.col("fires"), moment))
            .with_columns(
                closed=pl.col("closed")
                | (pl.col("fires") & grouping.trigger.finished(grouping.env)),
                timing=self._timing(moment.end_passed, moved_from),
            )
            .with_columns(last=pl.col("expires") | pl.col("closed"))
            .with_columns(shown=self._shown())
            .collect()
        )
        return self._emit(replace(state, panes=panes), outputs, order)

    def _timing(self, end_passed: pl.Expr, moved_from: int | None) -> pl.Expr:
        on_time = pl.lit(True)
        if self.grouping.windowing.where.by_watermark:
            on_time = (pl.col("arrived") < pl.col("end")).fill_null(False)
            if moved_from is not None:
                on_time = on_time | (pl.col("end") > moved_from)
        return (
            pl.when(~end_passed)
            .then(pl.lit("EARLY"))
            .when(on_time)
            .then(pl.lit("ON_TIME"))
            .otherwise(pl.lit("LATE"))
        )

    def _shown(self) -> pl.Expr:
        """Whether a window that acts emits a pane."""
        windowing = self.grouping.windowing
        shown = pl.col("new") > 0
        if windowing.on_time == "always":
            shown = shown | (pl.col("fires") & (pl.col("timing") == "ON_TIME"))
        if windowing.closing == "always":
            shown = shown | pl.col("last")
        return shown & pl.col("acts")

    def _emit(self, state: State, outputs: Outputs, order: int) -> State:
        assert state.panes is not None
        grouping = self.grouping
        live = state.panes
        panes = grouping.results.of(
            live.lazy()
            .filter("shown")
            .with_columns(first=pl.col("index") == 0, timestamp=grouping.timestamp())
            .collect(),
            state.elements,
        )
        if grouping.windowing.refine is Refinement.RETRACTING:
            # A pane that would say what the one before it said is not shown.
            panes, emitted = grouping.results.refined(panes, state.emitted)
            state = replace(state, emitted=emitted)
            shown = panes.filter(pl.col("sign") > 0).select(*grouping.owner, shown=pl.lit(True))
            live = live.drop("shown").join(
                shown, on=grouping.owner, how="left", nulls_equal=True, maintain_order="left"
            )
        outputs[ROWS].append(panes.with_columns(order=pl.lit(order)))
        return self._spent(replace(state, panes=live))

    def _spent(self, state: State) -> State:
        """What was new is not new any more; panes that were shown count."""
        assert state.panes is not None
        grouping, acts = self.grouping, pl.col("acts")
        panes = state.panes.lazy().with_columns(
            pl.when(acts).then(0).otherwise("new").alias("new"),
            pl.when(acts).then(None).otherwise("arrived").alias("arrived"),
            pl.when(acts).then(None).otherwise("stamp").alias("stamp"),
            pl.col("index") + pl.col("shown").fill_null(False).cast(pl.Int64),
        )
        elements = state.elements
        if grouping.windowing.refine is Refinement.DISCARDING:
            if elements is not None:
                elements = without(elements, state.panes.filter(acts), grouping.owner)
            panes = panes.with_columns(
                pl.when(acts).then(nothing).otherwise(name).alias(name)
                for a in grouping.accumulators
                for name, nothing in a.neutral()
            )
        panes = panes.drop("fires", "expires", "acts", "timing", "last", "shown")
        return replace(state, panes=panes.collect(), elements=elements)
