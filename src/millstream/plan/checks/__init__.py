"""Checks of a plan while it is built: one rule a file, each refusing with its own code.

A rule is a function of a finished step that raises PlanError, or returns if all is well.
"""

from __future__ import annotations

from millstream.model.errors import in_step
from millstream.plan.checks.aggregate_types import check_aggregate_types
from millstream.plan.checks.endless_global_window import check_endless_global_window
from millstream.plan.checks.event_time import check_window_has_event_time
from millstream.plan.checks.merging_windows import check_merging_windows
from millstream.plan.checks.missing_watermark import check_windows_end
from millstream.plan.checks.retractions import check_retractions
from millstream.plan.checks.trigger_safety import check_trigger_safety
from millstream.plan.checks.unwindowed import check_unwindowed
from millstream.plan.checks.window_policy import check_window_policy
from millstream.plan.operators.windowed import Windowed

WINDOWED_CHECKS = (
    check_aggregate_types,
    check_merging_windows,
    check_window_policy,
    check_window_has_event_time,
    check_unwindowed,
    check_endless_global_window,
    check_windows_end,
    check_trigger_safety,
    check_retractions,
)
"""In the order of the four questions: what, where, when, how."""


def check_windowed(node: Windowed) -> None:
    """Refuses an operator over windows that cannot work."""
    with in_step(node.name):
        for check in WINDOWED_CHECKS:
            check(node)
