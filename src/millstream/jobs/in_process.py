"""Runs a program in this process, on the reference: small programs need no Spark."""

from __future__ import annotations

import time
from typing import Any

from millstream.jobs.job import Job
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME
from millstream.plan.nodes import Function, Node, RowsSource, Sink, Source, Stateful, walk
from millstream.plan.targets import Memory
from millstream.reference.functions import own_copy
from millstream.reference.interpreter import Interpreter
from millstream.reference.result_table import remaining_rows
from millstream.reports.progress import BatchReport
from millstream.reports.steps import steps_of
from millstream.reports.tracker import Tracker


def run_to_the_end(name: str, sinks: tuple[Node, ...], tracker: Tracker | None = None) -> Job:
    """Runs a program over bounded sources on the reference: all rows, then the end of time."""
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    interpreter = Interpreter(*sinks)
    rows = {source.name: _rows_of(source) for source in sources}
    step = interpreter.step(
        rows=rows,
        watermarks={source.name: END_OF_TIME for source in sources},
        now=int(time.time() * 1_000_000),
    )
    tracker = tracker or Tracker(steps_of(*sinks))
    made_by = {node: len(given) for node, given in step.rows.items()}
    counted = [node for node in walk(*sinks) if isinstance(node, Stateful | Function)]
    tracker.report(
        BatchReport(
            batch=0,
            started=0,
            seconds=0,
            rows=sum(map(len, rows.values())),
            written={sink.name: len(step.rows[sink]) for sink in sinks},
            late={
                n.name: len(tagged["late"]) for n, tagged in step.tagged.items() if "late" in n.tags
            },
            rejected={node.name: len(rejected) for node, rejected in step.rejected.items()},
            ahead={node.name: len(rows) for node, rows in step.ahead.items()},
            read={name: len(given) for name, given in rows.items()},
            taken={n.name: sum(made_by.get(each, 0) for each in n.inputs) for n in counted},
            emitted={n.name: made_by.get(n, 0) for n in counted},
        )
    )
    tracker.state("finished")
    made = {sink.name: [own_copy(row.values) for row in step.rows[sink]] for sink in sinks}
    for sink in sinks:
        if isinstance(sink, Sink) and isinstance(sink.target, Memory) and sink.target.table:
            rows_of = made[sink.name]
            made[sink.name] = [rows_of[n] for n in remaining_rows(rows_of, sink.target.table)]
    return Job(name, sinks, tracker, made.__getitem__)


def _rows_of(source: Source) -> tuple[dict[str, Any], ...]:
    if isinstance(source, RowsSource):
        return source.rows
    raise no_rows(source)


def no_rows(source: Source) -> RunError:
    """The error for a source without rows."""
    return RunError(
        "MS204",
        f"source {source.name!r} has no rows of its own to run over",
        fix="give the program rows with ms.from_rows(…), or replay it with steps of a test: "
        "millstream.testing.replay(stream, steps=[…])",
        step=source.name,
    )
