"""Questions about what lies behind a step: where its rows come from, and what they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.model.refinements import retracting
from millstream.plan.nodes import EventTime, Grouping, Node, SideOutput, Source, walk


def is_bounded(node: Node) -> bool:
    """Whether all sources behind the step end."""
    return all(source.bounded for source in walk(node) if isinstance(source, Source))


def allowed_ahead(node: EventTime) -> int | None:
    """How far ahead of the clock an event time may be that moves the watermark; None: any.

    Unless the policy says it, that depends on whether a source behind the step goes on for ever.
    """
    return None if node.watermark is None else node.watermark.allowed_ahead(not is_bounded(node))


def untimed(node: Node) -> Node | None:
    """A step behind this one whose rows reach it without an event time, if there is one."""
    for each in _back(node, lambda step: isinstance(step, EventTime)):
        if isinstance(each, Source) or (isinstance(each, SideOutput) and each.side == "rejected"):
            return each
    return None


def unfollowed(node: Node) -> Iterator[Source]:
    """The sources whose rows reach this step with no watermark policy on their way."""
    behind = _back(node, lambda step: isinstance(step, EventTime) and step.watermark is not None)
    return (each for each in behind if isinstance(each, Source))


def feeding(node: Node) -> Iterator[Grouping]:
    """The groupings whose panes reach this step with no other grouping in between."""
    return (each for each in up_to_groupings(node) if isinstance(each, Grouping))


def up_to_groupings(node: Node) -> Iterator[Node]:
    """The steps whose rows reach this one with no grouping in between, which they may be."""
    return _back(node, lambda step: isinstance(step, Grouping))


def taking_back(node: Node) -> Grouping | None:
    """The retracting grouping that may take rows of this step back, if there is one.

    A grouping that takes retractions gives out panes of its own, so only the nearest counts.
    """
    return next((g for g in feeding(node) if g.windowing.refine is retracting), None)


def kind_column(node: Node) -> str | None:
    """The column that says which rows of this step are retractions, if there can be any.

    Where rows are never taken back, a column ``kind`` is a column like any other.
    """
    field = None if taking_back(node) is None else node.schema.find("kind")
    return None if field is None else field.name


def _back(node: Node, ends: Callable[[Node], bool]) -> Iterator[Node]:
    """The steps behind ``node`` and itself, each once, none behind one where the way ends."""
    seen: set[int] = set()
    stack = [node]
    while stack:
        each = stack.pop()
        if id(each) not in seen:
            seen.add(id(each))
            yield each
            if not ends(each):
                stack.extend(reversed(_rows_from(each)))


def _rows_from(node: Node) -> tuple[Node, ...]:
    """Late rows are the input's, not panes of the grouping; rejected ones are of neither."""
    if isinstance(node, SideOutput):
        return node.input.inputs if node.side == "late" else ()
    return node.inputs
