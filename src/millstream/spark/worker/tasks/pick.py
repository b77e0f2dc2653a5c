"""Picks columns under new names: a ``select`` that computes nothing."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl

from millstream.engine.rows import hidden_in
from millstream.spark.worker.tasks.task import Task

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class Pick(Task):
    """The columns of the rows by their new names."""

    columns: dict[str, str]

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        picked = [pl.col(column).alias(name) for name, column in self.columns.items()]
        self.give(rows.select(*picked, *hidden_in(rows)), run)
