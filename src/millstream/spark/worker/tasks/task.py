"""A task: what a Python stage does with the rows of one step."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

import polars as pl

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun

MOST_ROWS = 250_000
"""How many rows a task sends in one piece: more would be too large for Spark to carry."""


@dataclass(kw_only=True)
class Task:
    """Hands rows on as they are; each kind of task does more. ``then`` take what it makes."""

    step: str
    then: list[Task] = field(default_factory=list)

    @property
    def receivers(self) -> Iterable[Task]:
        """All tasks that this one gives rows to."""
        return self.then

    def begin(self, run: StageRun) -> None:
        """A partition begins."""

    def expect(self, run: StageRun) -> None:
        """Rows are likely to arrive, but are not made yet."""

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        """Takes some rows."""
        self.give(rows, run)

    def end(self, run: StageRun) -> None:
        """The partition has ended."""

    def abort(self) -> None:
        """The partition has failed: nothing half written may stay behind."""

    def give(self, rows: pl.DataFrame, run: StageRun) -> None:
        if rows.height:
            for task in self.then:
                task.take(rows, run)


@dataclass(kw_only=True)
class RejectingTask(Task):
    """A task that may reject rows; ``rejected`` take those."""

    rejected: list[Task] = field(default_factory=list)

    @property
    def receivers(self) -> Iterable[Task]:
        return [*self.then, *self.rejected]


def in_order(tasks: Iterable[Task]) -> list[Task]:
    """Each task before those that it gives rows to: they end in that order."""
    order: list[Task] = []
    seen: set[int] = set()

    def visit(task: Task) -> None:
        if id(task) not in seen:
            seen.add(id(task))
            for each in task.receivers:
                visit(each)
            order.append(task)

    for task in tasks:
        visit(task)
    return order[::-1]
