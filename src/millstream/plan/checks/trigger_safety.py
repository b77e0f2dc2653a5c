"""MS104: a trigger must not finish while its window can still get data, which would be lost."""

from __future__ import annotations

from dataclasses import replace

from millstream.model.arguments import as_code
from millstream.model.durations import format_duration
from millstream.model.errors import PlanError
from millstream.model.triggers import AfterCount, AtWatermark, Repeatedly, Trigger
from millstream.model.windowing import Windowing
from millstream.plan.finishing import Moment, may_lose_data
from millstream.plan.operators.windowed import Windowed

_TOO_EARLY = "may finish before its window ends"
_IN_A_PROGRAM = (
    "write .trigger({safe}), or, if losing data is meant, .trigger({trigger}, allow_data_loss=True)"
)
_IN_A_REPLAY = "write trigger={safe}, or, if losing data is meant, add allow_data_loss=True"


def check_trigger_safety(node: Windowed) -> None:
    """Refused unless the user allows data loss."""
    windowing = node.windowing
    # No watermark passes the end of time, so nothing is late for the global window.
    lateness = windowing.allowed_lateness if windowing.where.by_time else 0
    moment = may_lose_data(windowing.when, lateness)
    if moment == Moment.AT_END:
        left = f"finishes at the window's end, {format_duration(lateness)} before late data stops"
        _refuse(windowing, left, _IN_A_PROGRAM)
    elif moment is not None:
        _refuse(windowing, _TOO_EARLY, _IN_A_PROGRAM)


def check_closes_no_open_window(windowing: Windowing) -> None:
    """The part of the rule that also holds for a replay: no closing before the window's end."""
    if may_lose_data(windowing.when, allowed_lateness=0) is not None:
        _refuse(windowing, _TOO_EARLY, _IN_A_REPLAY)


def _refuse(windowing: Windowing, why: str, fix: str) -> None:
    if windowing.allow_data_loss:
        return
    trigger, safe = as_code(windowing.when), as_code(_safe(windowing.when))
    raise PlanError(
        "MS104",
        f"{trigger} {why}: what comes after that would go to .late, uncounted",
        fix=fix.format(trigger=trigger, safe=safe),
    )


def _safe(trigger: Trigger) -> Trigger:
    """What the user most likely meant: the same, for as long as the window lives."""
    if isinstance(trigger, AtWatermark):
        return replace(trigger, late=AfterCount(1))
    return Repeatedly(trigger)
