"""MS106: an endless stream needs a window or a trigger before it can be aggregated."""

from __future__ import annotations

from millstream.model.errors import PlanError
from millstream.plan.lineage import is_bounded
from millstream.plan.operators.windowed import Windowed


def check_unwindowed(node: Windowed) -> None:
    """With neither, the result would be due at the end of a stream that has none."""
    windowing = node.windowing
    if windowing.window is not None or windowing.trigger is not None or is_bounded(node):
        return
    raise PlanError(
        "MS106",
        "the stream is endless and has neither a window nor a trigger, so no result is ever due",
        fix="say where: .window(ms.fixed('1m')), or when: "
        ".trigger(ms.repeatedly(ms.after_count(100)))",
    )
