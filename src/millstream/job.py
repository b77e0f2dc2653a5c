"""A program that ran, and what came of it."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from millstream.model.errors import PlanError, RunError, did_you_mean
from millstream.model.instants import END_OF_TIME
from millstream.plan.drawing import draw_plan
from millstream.plan.nodes import Node, RowsSource, Source, walk
from millstream.reference.functions import own_copy
from millstream.reference.interpreter import Interpreter


@dataclass(frozen=True, repr=False)
class Job:
    """A finished run: the rows of each sink, and how many records were late or rejected."""

    name: str
    late: int
    rejected: int
    _sinks: tuple[Node, ...]
    _rows: dict[str, list[dict[str, Any]]]

    def rows(self, sink: str | None = None) -> list[dict[str, Any]]:
        """The rows that a sink collected; ``sink`` may be left out where there is only one.

        >>> import millstream as ms
        >>> ms.from_rows([(1,), (2,)], schema="n int").filter("n > 1").collect().run("big").rows()
        [{'n': 2}]
        """
        if sink is None and len(self._rows) == 1:
            return next(iter(self._rows.values()))
        if sink not in self._rows:
            raise self._no_such(sink)
        return self._rows[sink]

    def _no_such(self, sink: str | None) -> PlanError:
        if sink is None:
            choices = " or ".join(f"rows({name!r})" for name in self._rows)
            what, fix = "several sinks", f"name one: {choices}"
        else:
            what, fix = f"no sink {sink!r}", did_you_mean(sink, self._rows)
        return PlanError("MS113", f"job {self.name!r} has {what}", fix=fix)

    def __repr__(self) -> str:
        sinks = ", ".join(f"{_count(rows)} in {name!r}" for name, rows in self._rows.items())
        return f"<Job {self.name!r}: finished; {sinks}; {self.late} late, {self.rejected} rejected>"

    def _repr_svg_(self) -> str:
        return draw_plan(*self._sinks)


def run_to_the_end(name: str, sinks: tuple[Node, ...]) -> Job:
    """Runs a program over bounded sources on the reference: all rows, then the end of time."""
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    rows = {source.name: _rows_of(source) for source in sources}
    interpreter = Interpreter(*sinks)
    steps = (
        interpreter.step(rows=rows),
        interpreter.step(watermarks={source.name: END_OF_TIME for source in sources}),
    )
    return Job(
        name=name,
        late=sum(len(late) for step in steps for late in step.late_elements.values()),
        rejected=sum(len(rejected) for step in steps for rejected in step.rejected.values()),
        _sinks=sinks,
        _rows={
            sink.name: [own_copy(row.values) for step in steps for row in step.rows[sink]]
            for sink in sinks
        },
    )


def _count(rows: list[dict[str, Any]]) -> str:
    return "1 row" if len(rows) == 1 else f"{len(rows)} rows"


def _rows_of(source: Source) -> tuple[dict[str, Any], ...]:
    if isinstance(source, RowsSource):
        return source.rows
    raise RunError(
        "MS204",
        f"source {source.name!r} has no rows of its own to run over",
        fix="give the program rows with ms.from_rows(…), or replay it with steps of a test: "
        "millstream.testing.replay(stream, steps=[…])",
        step=source.name,
    )
