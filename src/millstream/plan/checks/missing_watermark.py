"""MS119: windows of an endless stream end by the watermark, so something must move it on."""

from __future__ import annotations

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.model.triggers import Trigger
from millstream.plan.finishing import Moment, fires, waits_for_watermark
from millstream.plan.lineage import unfollowed
from millstream.plan.nodes import EventTime, Node, Source, SplitSource, walk
from millstream.plan.operators.windowed import Windowed


def check_windows_end(node: Windowed) -> None:
    """A trigger that waits for the watermark has one to wait for.

    Bounded sources end, which is the end of time, and the steps of a test move the watermark of
    a ``test_stream``: neither needs a policy.
    """
    windowing = node.windowing
    if not windowing.where.by_time or not _waits(windowing.when):
        return
    for source in (each for input in node.inputs for each in unfollowed(input)):
        if isinstance(source, SplitSource) and not source.bounded:
            instead = _with_policy(_timing(node, source))
            trigger = as_code(windowing.trigger) if windowing.trigger else "the default trigger"
            raise PlanError(
                "MS119",
                f"{trigger} waits for the watermark, but no policy sets how that follows the "
                f"endless rows of {source.name!r}: no window would ever end",
                fix=f"say how far events may be out of order: {instead}",
            )


def check_followed(input: Node, what: str) -> None:
    """What waits for the watermark has one to wait for."""
    for source in unfollowed(input):
        if isinstance(source, SplitSource) and not source.bounded:
            raise PlanError(
                "MS119",
                f"{what}, but no policy sets how the watermark follows the endless rows of "
                f"{source.name!r}",
                fix="say how far events may be out of order: "
                + _with_policy(_timing(input, source)),
            )


def check_splits_are_followed(node: EventTime) -> None:
    """Splits are there to have watermarks of their own: without a policy they would be for nothing.

    The policy is asked for with the event time, which may be computed after the source.
    """
    for source in unfollowed(node):
        if isinstance(source, SplitSource) and source.split is not None:
            raise PlanError(
                "MS119",
                f"{source.name!r} is split by {source.split!r}, so that each split has a watermark "
                "of its own, but no policy sets which",
                fix=f"say how far events of a split may be out of order: {_with_policy(node)}",
            )


def _waits(trigger: Trigger) -> bool:
    """Whether any result depends on the watermark; ``never()`` leaves them all to its passing."""
    return fires(trigger) == Moment.NEVER or waits_for_watermark(trigger)


def _timing(node: Node, source: Source) -> EventTime:
    """The step without a policy that gives rows of the source the times that reach ``node``."""
    steps = (n for n in walk(node) if isinstance(n, EventTime) and n.watermark is None)
    return next(step for step in steps if source in walk(step))


def _with_policy(step: EventTime) -> str:
    """What to write where the program sets the event time."""
    unit = "" if step.unit == "s" else f", unit={step.unit!r}"
    if isinstance(step.input, Source):
        return f"event_time={step.column!r}, watermark=ms.bounded('30s'){unit}"
    return f".with_event_time({step.column!r}, ms.bounded('30s'){unit})"
