"""Runs the steps of a replay on the reference interpreter."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from millstream.model.aggregates import Aggregate, Top
from millstream.model.instants import seconds
from millstream.model.panes import LateElement, Pane
from millstream.model.windowing import Windowing
from millstream.model.windows import Interval
from millstream.plan.expressions import scalar
from millstream.plan.schema import Field, Schema
from millstream.reference.aggregates import Item, evaluate
from millstream.reference.elements import Element, Emission, Late
from millstream.reference.expressions import Compute, compiled
from millstream.reference.functions import failure
from millstream.reference.grouping import GroupByKeyAndWindow
from millstream.reference.ordering import ordering
from millstream.testing.steps import Elements, ProcessingTime, Step, Watermark

_VALUE = Schema((Field("value", None),))
"""What an aggregate sees of an element; of what type it is, the steps say."""


def replay_on_reference(
    windowing: Windowing,
    steps: Sequence[Step],
    summary: Aggregate | Callable[[list[Any]], Any] | None,
) -> tuple[list[Pane], list[LateElement]]:
    """The panes and the late elements, each with the index of its step."""
    grouping = GroupByKeyAndWindow(windowing, _summariser(summary))
    panes: list[Pane] = []
    late: list[LateElement] = []
    for i, step in enumerate(steps):
        panes += [pane_of(emission, i) for emission in _take(grouping, step)]
        late += [late_of(one, i) for one in grouping.late]
        grouping.late.clear()
    return panes, late


def _take(grouping: GroupByKeyAndWindow, step: Step) -> list[Emission]:
    match step:
        case Elements():
            return grouping.bundle((key, Element(v, time)) for key, v, time in step.triples())
        case Watermark():
            return grouping.advance_watermark(step.us)
        case ProcessingTime():
            return grouping.advance_clock(step.us)


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
    )


def late_of(late: Late, step: int) -> LateElement:
    """A late element as users see it."""
    window = None if late.window is None else _window(late.window)
    element = late.element
    return LateElement(late.key, element.value, seconds(element.time), window, late.reason, step)


def _window(window: Interval) -> tuple[float, float]:
    return seconds(window.start), seconds(window.end)


def _summariser(
    summary: Aggregate | Callable[[list[Any]], Any] | None,
) -> Callable[[list[Element]], Any]:
    if isinstance(summary, Aggregate):
        return _aggregating(summary)
    if summary is not None:
        return lambda elements: summary(_sorted_values(elements))
    return lambda elements: tuple(_sorted_values(elements))


def _sorted_values(elements: list[Element]) -> list[Any]:
    return sorted((element.value for element in elements), key=ordering)


def _aggregating(aggregate: Aggregate) -> Callable[[list[Element]], Any]:
    of = _compute(aggregate.of or "value")
    by = _compute(aggregate.by) if isinstance(aggregate, Top) else lambda row: None

    def summarise(elements: list[Element]) -> Any:
        rows = [({"value": e.value}, e) for e in elements]
        try:
            return evaluate(aggregate, [Item(of(row), e.time, e.kind, by(row)) for row, e in rows])
        except Exception as error:
            values = f"the values {[e.value for e in elements]!r}"
            fix = "give elements whose values it can take"
            raise failure(None, str(aggregate), values, error, fix) from error

    return summarise


def _compute(expression: Any) -> Compute:
    return compiled(scalar(expression, _VALUE).text)
