"""MS107: sessions merge, so what is in them must merge too, and they end with their grouping."""

from __future__ import annotations

from millstream.model.aggregates import Combine
from millstream.model.errors import PlanError
from millstream.plan.lineage import feeding
from millstream.plan.nodes import Grouping
from millstream.plan.spelling import spelled


def check_merging_windows(node: Grouping) -> None:
    """A ``combine`` in sessions has a ``merge``; a grouping over sessions says its window."""
    _check_combines(node)
    _check_carried_on(node)


def _check_combines(node: Grouping) -> None:
    if not node.windowing.where.merging:
        return
    for name, aggregate, _ in node.aggregates:
        if isinstance(aggregate, Combine) and aggregate.merge is None:
            raise PlanError(
                "MS107",
                f"{node.windowing.where!r} merges windows, but {name} = {aggregate!r} has no merge",
                fix=f"give {name}=ms.combine(…, merge=…) a function of two accumulators",
            )


def _check_carried_on(node: Grouping) -> None:
    if node.windowing.window is not None:
        return
    for earlier in feeding(node.input):
        if isinstance(earlier, Grouping) and earlier.windowing.where.merging:
            window = spelled(earlier.windowing.where)
            raise PlanError(
                "MS107",
                f"this grouping over the sessions of {earlier.name!r} says no window of its own",
                fix=f"say where again: .window({window}), or .window(ms.global_window()) for all "
                "of time",
            )
