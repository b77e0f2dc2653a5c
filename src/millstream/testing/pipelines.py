"""Replays a user's own pipeline: its sources get the rows of the steps."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from millstream.model.errors import PlanError, TestingError, did_you_mean
from millstream.model.instants import seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Node, Source, Stateful, walk
from millstream.plan.operators.grouping import Grouping
from millstream.plan.types.rows import row_of
from millstream.plan.types.schema import Schema
from millstream.reference.elements import Emission, Late
from millstream.reference.interpreter import Interpreter
from millstream.reference.operators.operator import Operators
from millstream.reference.rows import Row
from millstream.reference.step import Step as Made
from millstream.testing.groupings import late_of, pane_of
from millstream.testing.panes import Panes, ReplayedRow, Rows


def replay_stream(
    node: Node, steps: Sequence[Step], operators: Operators, follows: bool = False
) -> Panes:
    """The panes of the grouping ``node``; what was late or rejected there or before it.

    A pane's key is the value of the one key column, a tuple of several, None without any;
    its values are the one aggregate's, or a dict of several.
    """
    node = checked_grouping(node)
    interpreter = Interpreter(node, operators=operators, follows=follows)
    sources = {each.name: each.schema for each in walk(node) if isinstance(each, Source)}
    panes = Panes()
    with closing(interpreter):
        for i, step in enumerate(steps):
            made = _take(interpreter, step, i, sources)
            panes += [_simplified(row, i, node) for row in made.rows[node]]
            panes.late += _late(made, i)
            panes.rejected += [row.values for rows in made.rejected.values() for row in rows]
    return panes


def replay_rows(
    node: Node, steps: Sequence[Step], operators: Operators, follows: bool = False
) -> Rows:
    """The rows of any stream, step by step, with those of an operator's side outputs."""
    (node,) = with_distinct_names(node)
    interpreter = Interpreter(node, operators=operators, follows=follows)
    sources = {each.name: each.schema for each in walk(node) if isinstance(each, Source)}
    rows = Rows()
    with closing(interpreter):
        for i, step in enumerate(steps):
            made = _take(interpreter, step, i, sources)
            rows += [replayed_row(row, i) for row in made.rows[node]]
            tagged = made.tagged.get(node, {}) if isinstance(node, Stateful) else {}
            for tag, some in tagged.items():
                found = rows.late if tag == "late" else rows.outputs.setdefault(tag, [])
                found += [replayed_row(row, i) for row in some]
            rows.rejected += [row.values for some in made.rejected.values() for row in some]
    return rows


def replayed_row(row: Row, step: int) -> ReplayedRow:
    """A row as users see it."""
    time = None if row.time is None else seconds(row.time)
    return ReplayedRow(row.values, time, step, row.kind)


def checked_grouping(node: Node) -> Grouping:
    """The grouping that is replayed, in a graph where every step has a name of its own."""
    (node,) = with_distinct_names(node)
    if isinstance(node, Grouping):
        return node
    raise PlanError(
        "MS117",
        f"step {node.name!r} has no panes to replay",
        fix="replay the stream that aggregate(), group(), join() or process() returned",
    )


def checked_program(node: Node) -> Stateful:
    """The operator that Spark replays, in such a graph."""
    (node,) = with_distinct_names(node)
    return node if isinstance(node, Stateful) else checked_grouping(node)


def _take(interpreter: Interpreter, step: Step, i: int, sources: dict[str, Schema]) -> Made:
    match step:
        case Elements():
            source = source_of(step, sources)
            return interpreter.step(rows={source: elements_of(step, i, source, sources[source])})
        case Watermark(source=None):
            return interpreter.step(watermarks=dict.fromkeys(sources, step.us))
        case Watermark():
            return interpreter.step(watermarks={source_of(step, sources): step.us})
        case ProcessingTime():
            return interpreter.step(now=step.us)


def elements_of(step: Elements, i: int, source: str, schema: Schema) -> list[dict[str, Any]]:
    """The rows of a step, held to the schema of their source."""
    return [
        row_of(item, schema, what=f"element {n} of steps[{i}]", step=source)
        for n, item in enumerate(step.items)
    ]


def source_of(step: Elements | Watermark, sources: Iterable[str]) -> str:
    """The source that a step is for, by its name."""
    names = list(sources)
    if step.source is None and len(names) == 1:
        return names[0]
    if step.source in names:
        return step.source
    if step.source is None:
        choices = " or ".join(f"source={name!r}" for name in names)
        what, fix = "names no source, and the pipeline has several", f"name one: {choices}"
    else:
        what, fix = "is for no source of the pipeline", did_you_mean(step.source, names)
    raise TestingError("MS301", f"{step!r} {what}", fix=fix)


def _simplified(row: Row, step: int, node: Grouping) -> Pane:
    assert isinstance(row.made_of, Emission)
    pane = pane_of(row.made_of, step)
    return replace(pane, key=simple_key(pane.key), values=simple_values(node, pane.values))


def _late(made: Made, step: int) -> list[LateElement]:
    return [
        replace(late_of(row.made_of, step), key=simple_key(row.made_of.key), grouping=node.name)
        for node, tagged in made.tagged.items()
        for row in tagged.get("late", ())
        if isinstance(row.made_of, Late)
    ]


def simple_values(node: Grouping, values: tuple[Any, ...]) -> Any:
    """The values of a pane, as users see them."""
    names = [name for name, _, _ in node.aggregates]
    return values[0] if len(names) == 1 else dict(zip(names, values, strict=True))


def simple_key(key: tuple[Any, ...]) -> Any:
    """The key of a pane, as users see it."""
    return None if not key else key[0] if len(key) == 1 else key
