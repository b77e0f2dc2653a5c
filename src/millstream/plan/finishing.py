"""How early a trigger may fire and finish: a small calculus over the algebra of triggers.

A window whose trigger has finished is closed, and drops what still comes. So a trigger is safe
if it cannot finish before its window has all of its data.
"""

from __future__ import annotations

from dataclasses import fields
from enum import IntEnum

from millstream.model.triggers import (
    DEFAULT_TRIGGER,
    AfterCount,
    AfterDelay,
    AllOf,
    AtWatermark,
    Every,
    FirstOf,
    InOrder,
    Never,
    OrFinally,
    Repeatedly,
    Trigger,
)
from millstream.model.windowing import Windowing


class Moment(IntEnum):
    """When something may happen first, as seen from the end of the window."""

    BEFORE_END = 0
    AT_END = 1
    NEVER = 2


def fires(trigger: Trigger) -> Moment:
    """The earliest moment at which the trigger may fire."""
    match trigger:
        case AfterCount() | AfterDelay() | Every():
            return Moment.BEFORE_END
        case AtWatermark(early=None):
            return Moment.AT_END
        case AtWatermark(early=Trigger() as early):
            return min(fires(early), Moment.AT_END)
        case Repeatedly(part=part):
            return fires(part)
        case FirstOf(parts=parts):
            return min(map(fires, parts))
        case AllOf(parts=parts):
            return max(map(fires, parts))
        case InOrder(parts=parts):
            return fires(parts[0])
        case OrFinally(main=main, until=until):
            return min(fires(main), fires(until))
        case Never():
            return Moment.NEVER
    raise TypeError(f"an unknown trigger: {trigger!r}")


def finishes(trigger: Trigger) -> Moment:
    """The earliest moment at which the trigger may finish."""
    match trigger:
        case AfterCount() | AfterDelay() | Every() | FirstOf() | AllOf():
            return fires(trigger)
        case AtWatermark(late=late):
            return Moment.AT_END if late is None else Moment.NEVER
        case Repeatedly() | Never():
            return Moment.NEVER
        case InOrder(parts=parts):
            return max(map(finishes, parts))
        case OrFinally(main=main, until=until):
            return min(finishes(main), finishes(until))
    raise TypeError(f"an unknown trigger: {trigger!r}")


def uses_clock(trigger: Trigger) -> bool:
    """Whether the trigger depends on processing time anywhere.

    >>> from millstream.model.triggers import at_watermark, every, repeatedly
    >>> uses_clock(at_watermark(early=repeatedly(every("1m")))), uses_clock(at_watermark())
    (True, False)
    """
    match trigger:
        case AfterDelay() | Every():
            return True
        case AtWatermark(early=early, late=late):
            return any(uses_clock(part) for part in (early, late) if part)
        case Repeatedly(part=part):
            return uses_clock(part)
        case FirstOf(parts=parts) | AllOf(parts=parts) | InOrder(parts=parts):
            return any(map(uses_clock, parts))
        case OrFinally(main=main, until=until):
            return uses_clock(main) or uses_clock(until)
        case AfterCount() | Never():
            return False
    raise TypeError(f"an unknown trigger: {trigger!r}")


def waits_for_watermark(trigger: Trigger) -> bool:
    """Whether the trigger depends on the watermark anywhere.

    >>> from millstream.model.triggers import after_count, at_watermark, repeatedly
    >>> waits_for_watermark(repeatedly(after_count(1)).or_finally(at_watermark()))
    True
    """
    if isinstance(trigger, AtWatermark):
        return True
    values = [getattr(trigger, field.name) for field in fields(trigger)]
    parts = [part for each in values for part in (each if isinstance(each, tuple) else (each,))]
    return any(waits_for_watermark(part) for part in parts if isinstance(part, Trigger))


def fires_once(how: Windowing) -> bool:
    """Whether a window gives one pane at most, if it ends."""
    return how.when in (DEFAULT_TRIGGER, AtWatermark(None, None)) and how.allowed_lateness == 0


def may_lose_data(trigger: Trigger, allowed_lateness: int) -> Moment | None:
    """When the trigger may close a window that data can still come for; None if it never does.

    >>> from millstream.model.triggers import after_count, at_watermark, repeatedly
    >>> may_lose_data(after_count(5), allowed_lateness=0)
    <Moment.BEFORE_END: 0>
    >>> may_lose_data(at_watermark(), allowed_lateness=1)
    <Moment.AT_END: 1>
    >>> may_lose_data(at_watermark(), allowed_lateness=0) is None
    True
    """
    finish = finishes(trigger)
    safe = finish == Moment.NEVER or (finish == Moment.AT_END and not allowed_lateness)
    return None if safe else finish
