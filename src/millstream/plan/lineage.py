"""Questions about what lies behind a step: where its rows come from, and what they carry."""

from __future__ import annotations

from collections.abc import Callable, Iterator

from millstream.plan.nodes import EventTime, Node, Rejected, SideOutput, Source, Stateful, walk


def is_bounded(node: Node) -> bool:
    """Whether all sources behind the step end."""
    return all(source.bounded for source in walk(node) if isinstance(source, Source))


def allowed_ahead(node: EventTime) -> int | None:
    """How far ahead of the clock an event time may be that moves the watermark; None: any.

    Unless the policy sets it, that depends on whether a source behind the step is endless.
    """
    return None if node.watermark is None else node.watermark.allowed_ahead(not is_bounded(node))


def untimed(node: Node) -> Node | None:
    """A step behind this one whose rows reach it without an event time, if there is one."""
    for each in _back(node, lambda step: isinstance(step, EventTime)):
        if isinstance(each, Source | Rejected):
            return each
    return None


def unfollowed(node: Node) -> Iterator[Source]:
    """The sources whose rows reach this step with no watermark policy on their way."""
    behind = _back(node, lambda step: isinstance(step, EventTime) and step.watermark is not None)
    return (each for each in behind if isinstance(each, Source))


def feeding(node: Node) -> Iterator[Stateful]:
    """The operators whose rows reach this step with no other operator in between."""
    return (each for each in up_to_operators(node) if isinstance(each, Stateful))


def up_to_operators(node: Node) -> Iterator[Node]:
    """The steps whose rows reach this one with no operator in between, which they may be."""
    return _back(node, lambda step: isinstance(step, Stateful))


def taking_back(node: Node) -> Stateful | None:
    """The operator that may take rows of this step back, if there is one.

    An operator that takes retractions emits rows of its own, so only the nearest counts.
    """
    # What an operator emits under a tag of its own takes nothing back.
    behind = _back(node, lambda step: isinstance(step, Stateful) or _is_own_output(step))
    return next((n for n in behind if isinstance(n, Stateful) and n.retracts), None)


def kind_column(node: Node) -> str | None:
    """The column that marks which rows of this step are retractions, if there can be any.

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
    """Late rows are the operator's input; rejected ones are of no step's rows."""
    if isinstance(node, Rejected):
        return ()
    late = isinstance(node, SideOutput) and not _is_own_output(node)
    return node.inputs[0].inputs if late else node.inputs


def _is_own_output(node: Node) -> bool:
    return isinstance(node, SideOutput) and node.tag != "late"
