"""MS122: what belongs to the watermark has no meaning for windows that it does not end."""

from __future__ import annotations

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.model.windowing import Windowing
from millstream.plan.checks.retractions import check_takes_nothing_back
from millstream.plan.finishing import waits_for_watermark
from millstream.plan.operators.windowed import Windowed


def check_window_policy(node: Windowed) -> None:
    """Windows that the watermark does not end have no late rows, and take nothing back."""
    windowing = node.windowing
    check_policy(windowing)
    if not windowing.where.by_watermark:
        for input in node.inputs:
            check_takes_nothing_back(input, as_code(windowing.where))


def check_policy(windowing: Windowing) -> None:
    """The part of the rule that also holds for a replay."""
    where, trigger = windowing.where, windowing.trigger
    if where.by_watermark:
        return
    ends = "by their rows" if where.ordered else "by the clock"
    if windowing.allowed_lateness:
        raise PlanError(
            "MS122",
            f"windows of {as_code(where)} end {ends}, so no row is late for them, and "
            "allowed_lateness has no meaning",
            fix="leave allowed_lateness out",
        )
    if trigger is not None and waits_for_watermark(trigger):
        raise PlanError(
            "MS122",
            f"windows of {as_code(where)} end {ends}, but {as_code(trigger)} waits for the "
            "watermark",
            fix="leave the trigger out: each window emits its result when it ends. For results "
            "before that, write .trigger(ms.repeatedly(ms.after_count(10))), say",
        )
