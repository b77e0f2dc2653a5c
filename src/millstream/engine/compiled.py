"""A grouping made ready to run: its trigger, accumulators and results as expressions."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from millstream.engine.accumulators import Accumulator, accumulator
from millstream.engine.results import Results
from millstream.engine.tables import Aggregated, State
from millstream.engine.triggers import Env, Moment, Node, StateColumn, compiled
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.windowing import Windowing


@dataclass(frozen=True)
class Compiled:
    """The answers to the four questions, as expressions over the tables of a ``State``.

    ``takes_retractions`` says that elements may be taken back, so that results can only be
    computed from the elements that are left.
    """

    windowing: Windowing
    keys: Sequence[str]
    aggregates: Sequence[Aggregated]
    takes_retractions: bool = False

    @cached_property
    def owner(self) -> list[str]:
        """The columns that name a pane."""
        return [*self.keys, "start", "end"]

    @cached_property
    def trigger(self) -> Node:
        return compiled(self.windowing.when)

    @cached_property
    def trigger_columns(self) -> list[StateColumn]:
        return list(self.trigger.columns())

    @cached_property
    def env(self) -> Env:
        """The trigger's state as it stands in the table of panes."""
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
        return Results(self.keys, self._folding)

    def moment(self, state: State) -> Moment:
        """What the trigger may know of time."""
        end_passed = pl.col("end") <= state.watermark
        return Moment(end_passed, state.now, self.windowing.where.merging)

    def expired(self, state: State) -> pl.Expr:
        """Whether a window and all that it holds must go."""
        if state.watermark >= END_OF_TIME:
            return pl.lit(True)
        # Not end + lateness, which may be more than a column can hold.
        return pl.col("end") <= max(
            state.watermark - self.windowing.allowed_lateness, START_OF_TIME
        )

    def timestamp(self) -> pl.Expr:
        """The event time that a pane carries."""
        end = pl.col("end") - 1
        return end if self.windowing.timestamp == "end" else pl.coalesce("stamp", end)

    def stamped(self, times: pl.Expr) -> pl.Expr:
        """The one of several event times that a pane is stamped with."""
        return times.max() if self.windowing.timestamp == "latest" else times.min()
