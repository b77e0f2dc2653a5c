"""Replays one grouping: its elements are (key, value, time), its panes have their values."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from contextlib import closing
from dataclasses import replace
from typing import Any

from millstream.model.aggregates import Aggregate, Collect, Top
from millstream.model.instants import START_OF_TIME, seconds
from millstream.model.ordered_windows import Ordered
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.model.windowing import Windowing
from millstream.model.windows import Interval
from millstream.plan.sql.expressions import scalar
from millstream.plan.types.schema import Field, Schema
from millstream.reference.aggregates import Column
from millstream.reference.elements import Element, Emission, Late
from millstream.reference.expressions import Compute, compiled
from millstream.reference.functions import failure
from millstream.reference.groups import Groups, MakeGroups
from millstream.reference.ordering import ordering
from millstream.testing.panes import Panes

Summary = Aggregate | Callable[[list[Any]], Any] | None
"""A pane's ``values``: the value of an aggregate or of a function, or all values."""

_VALUE = Schema((Field("value", None),))
"""The input of an aggregate; its type follows from the steps."""


def replay_grouping(
    make: MakeGroups, windowing: Windowing, steps: Sequence[Step], summary: Summary
) -> Panes:
    """The panes and the late elements, each with the index of its step."""
    values: list[Any] = []
    groups = make(windowing, [_column(summary)], False)
    attribute = _attribute(windowing)
    panes = Panes()
    with closing(groups):
        for i, step in enumerate(steps):
            panes += _panes_of(groups, i, step, summary, values, attribute)
            panes.late += [_late(late, i) for late in groups.late]
            groups.late.clear()
    return panes


def _panes_of(
    groups: Groups, i: int, step: Step, summary: Summary, values: list[Any], attribute: Compute
) -> list[Pane]:
    emissions = _take(groups, step, values, attribute)
    return [replace(pane_of(e, i), values=shown(e.value[0], summary, values)) for e in emissions]


def _take(groups: Groups, step: Step, values: list[Any], attribute: Compute) -> list[Emission]:
    match step:
        case Elements():
            return groups.take(_numbered(step, values, attribute), START_OF_TIME, 0)
        case Watermark():
            return groups.take([], step.us, 0)
        case ProcessingTime():
            return groups.take([], START_OF_TIME, step.us)


def _numbered(step: Elements, values: list[Any], attribute: Compute) -> list[tuple[Any, Element]]:
    """The elements, with numbers for their values: values may be any objects, and no column."""
    elements = []
    for key, value, time in step.triples():
        row = {"value": value, "number": len(values)}
        elements.append((key, Element(row, time, attribute=attribute(row))))
        values.append(value)
    return elements


def _attribute(windowing: Windowing) -> Compute:
    """What the windows of elements depend on, of the column ``value``."""
    where = windowing.where
    if not isinstance(where, Ordered) or where.attribute is None:
        return lambda element: None
    return compiled(scalar(where.attribute, _VALUE).text, _VALUE)


def _column(summary: Summary) -> Column:
    """What is computed for a pane: the aggregate, or the numbers of all of its elements."""
    if not isinstance(summary, Aggregate):
        return Column(Collect(), lambda element: element["number"], lambda element: None)
    by = _compute(summary, summary.by) if isinstance(summary, Top) else lambda element: None
    return Column(summary, _compute(summary, summary.of or "value"), by)


def _compute(aggregate: Aggregate, expression: Any) -> Compute:
    compute = compiled(scalar(expression, _VALUE).text, _VALUE)

    def guarded(element: Any) -> Any:
        try:
            return compute(element)
        except Exception as error:
            fix = "give elements whose values it can take"
            on = f"the value {element['value']!r}"
            raise failure(None, str(aggregate), on, error, fix) from error

    return guarded


def shown(result: Any, summary: Summary, values: list[Any]) -> Any:
    """A pane's values: the aggregate's result, or what the numbers of its elements stand for."""
    if isinstance(summary, Aggregate):
        return result
    held = sorted((values[number] for number in result), key=ordering)
    return tuple(held) if summary is None else summary(held)


def pane_of(emission: Emission, step: int) -> Pane:
    """A pane as users see it."""
    info = emission.info
    return Pane(
        key=emission.key,
        window=_window(emission.window),
        values=emission.value,
        timing=info.timing,
        index=info.index,
        first=info.first,
        last=info.last,
        kind=emission.kind,
        step=step,
        timestamp=seconds(emission.timestamp),
        window_index=emission.window.index,
    )


def late_of(late: Late, step: int) -> LateElement:
    """A late element as users see it."""
    window = None if late.window is None else _window(late.window)
    element = late.element
    return LateElement(late.key, element.value, seconds(element.time), window, late.reason, step)


def _late(late: Late, step: int) -> LateElement:
    element = late_of(late, step)
    return replace(element, value=element.value["value"])


def _window(window: Interval) -> tuple[float, float]:
    return seconds(window.start), seconds(window.end)
