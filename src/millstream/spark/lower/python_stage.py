"""Makes a Python stage of its tasks and the wide frame that it takes."""

from __future__ import annotations

from typing import Any

from millstream.engine.rows import SPLIT
from millstream.physical.plan import Instance
from millstream.plan.nodes import EventTime, KafkaSource, Source
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.operators import emitted
from millstream.spark.lower.task_graph import TaskGraph
from millstream.spark.lower.tasks import follow_of
from millstream.spark.lower.wide_frame import WideFrame
from millstream.spark.types import arrow_of
from millstream.spark.worker.emitted import Emitted
from millstream.spark.worker.python_stage import PythonStage, RejectColumn, SliceBy, UnitColumn
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.sinks import ToSink, Write
from millstream.spark.worker.tasks.task import Task
from millstream.spark.worker.tasks.to_jvm import ToJvm


def python_stage(
    lowering: Lowering, wide: WideFrame, graph: TaskGraph, source: Source | None
) -> PythonStage:
    """The Python stage that takes a wide frame, in the first stage the rows of one ``source``."""
    tasks = graph.all
    return PythonStage(
        inputs=[(columns, graph.readers(i)) for i, columns in wide.steps.items()],
        emitted=_emitted(lowering, graph),
        sinks=dict(graph.writes),
        tasks=tasks,
        follows=[follow_of(lowering, i, column) for i, column in wide.marks.items()],
        rejects=[
            RejectColumn(i.node.name, column, graph.reject_readers(i))
            for i, column in wide.rejected.items()
        ],
        untimed={i.node.name: column for i, column in wide.untimed.items()},
        units=[
            UnitColumn(i.node.name, column, i.node.column, i.node.unit)
            for i, column in wide.units.items()
            if isinstance(i.node, EventTime)
        ],
        labels=lowering.labels,
        schema=arrow_of(lowering.envelope),
        split=SPLIT if SPLIT in wide.carried else None,
        slices=_slices(source, graph, tasks),
        by_split=any(isinstance(t, Time) and t.follow and t.follow.mark for t in tasks),
        run=lowering.run,
        owner=lowering.owner,
        batch=None if lowering.only is None else lowering.only.batch,
        clock=None if lowering.only is None else lowering.only.clock,
        **({} if source is None else _of_source(lowering, source, graph, tasks)),
    )


def _of_source(
    lowering: Lowering, source: Source, graph: TaskGraph, tasks: list[Task]
) -> dict[str, Any]:
    """What a Python stage after a source also needs: to count rows, and to report their end."""
    counts = not any(i.phase > 1 for i in graph.steps) and not any(
        isinstance(task, Load) for task in tasks
    )
    fed = [i for i in lowering.plan.instances if i.role == "scatter" and i.source is source]
    return {
        "source": source.name if counts else None,
        "origin": source.name,
        "numbered": _needs_places(lowering, source, graph),
        "ends": sorted({i.mark for i in fed}) if source.bounded and lowering.ending else [],
    }


def _needs_places(lowering: Lowering, source: Source, graph: TaskGraph) -> bool:
    """Whether the rows of a source arrive without their places, though the order of rows counts.

    A retried batch is read in the same tasks, so that rows are numbered as before.
    """
    first = all(i.phase <= 1 for i in graph.steps)
    has_places = isinstance(source, KafkaSource) or source in lowering.plan.loaded
    return lowering.plan.is_ordered and first and not has_places


def _emitted(lowering: Lowering, graph: TaskGraph) -> dict[tuple[str, str], Emitted]:
    """What operators emit for this stage, by their step and tag."""
    found: dict[tuple[str, str], list[Instance]] = {}
    for instance in graph.tasks:
        if instance.tag is not None:
            found.setdefault((instance.node.name, instance.tag), []).append(instance)
    return {
        key: emitted(lowering, some[0], [graph.tasks[instance] for instance in some])
        for key, some in found.items()
    }


def _slices(source: Source | None, graph: TaskGraph, tasks: list[Task]) -> SliceBy:
    """What makes a slice of its own; if several sources are only written, where rows are from.

    Of what only goes to operators there are no slices, and all splits of a task are taken at once.
    """
    if isinstance(source, KafkaSource) and not source.bounded:
        sliced = any(isinstance(task, ToSink | Write | ToJvm) for task in tasks)
        return "splits" if sliced else "tasks"
    return "tasks" if source is not None or graph.steps else "origins"
