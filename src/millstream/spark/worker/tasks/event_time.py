"""Gives rows their event time, and moves the watermark that follows it."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import TYPE_CHECKING

import polars as pl

from millstream.engine.rows import TIME, micros_of, rejected_rows, timed, to_python
from millstream.model.time_units import TimeUnit, unit_hint
from millstream.model.watermarks import Punctuated, why_ahead
from millstream.plan.records import record_text
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.tasks.task import RejectingTask

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class Time(RejectingTask):
    """Takes the event time from a column; rows without one are rejected."""

    column: str
    unit: TimeUnit = "s"
    follow: Follow | None
    loaded: bool = False
    """Whether it takes the rows of files as they are loaded."""

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        where = run.where if self.loaded else None
        if self.unit != "s":
            self._check_unit(rows[self.column], run)
        good, bad = timed(rows, self.step, self.column, self.unit, where)
        if bad is not None:
            run.reject(self.step, bad, self.rejected)
        if self.follow is not None and good.height:
            good = self._followed(good, self.follow, run)
        self.give(good, run)

    def _check_unit(self, numbers: pl.Series, run: StageRun) -> None:
        """Counts numbers that are all likely to be of another unit."""
        least, greatest = numbers.min(), numbers.max()
        if not isinstance(least, int | float | Decimal):
            return
        assert isinstance(greatest, int | float | Decimal)
        about = unit_hint(self.column, self.unit, least, greatest)
        if about is not None:
            run.counts.add_unit(self.step, numbers.len(), about)

    def _followed(self, rows: pl.DataFrame, follow: Follow, run: StageRun) -> pl.DataFrame:
        """The rows, without those that are rejected because they are too far ahead of the clock."""
        times = rows[TIME]
        if isinstance(follow.policy, Punctuated):
            times = micros_of(rows[follow.policy.column], self.unit)
        ahead = run.follow(follow, run.split, times)
        if not ahead or follow.ahead is None or follow.policy.on_ahead == "keep":
            return rows
        beyond = (times > run.latest(follow)).fill_null(False)
        records = [record_text(row.values) for row in to_python(rows.filter(beyond))]
        why = why_ahead(follow.policy, self.column, follow.ahead)
        run.reject(self.step, rejected_rows(self.step, [why] * ahead, records), self.rejected)
        return rows.filter(~beyond)
