"""The answers to where, when and how for one grouping."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, TypeVar, get_args

from millstream.model.arguments import one_of
from millstream.model.durations import Duration, not_negative
from millstream.model.errors import PlanError
from millstream.model.refinements import Refinement, discarding
from millstream.model.triggers import DEFAULT_TRIGGER, Trigger
from millstream.model.windows import Global, Window

OnTime = Literal["always", "if_changed"]
Closing = Literal["if_changed", "always"]
Timestamp = Literal["end", "earliest", "latest"]

_T = TypeVar("_T")


@dataclass(frozen=True, slots=True)
class Windowing:
    """Where (``window``), when (``trigger``) and how (``refine``), with their options.

    ``window`` and ``trigger`` are None where the user has not set them.
    """

    window: Window | None = None
    trigger: Trigger | None = None
    refine: Refinement = discarding
    allowed_lateness: int = 0
    on_time: OnTime = "always"
    closing: Closing = "if_changed"
    timestamp: Timestamp = "end"
    allow_data_loss: bool = False

    @property
    def where(self) -> Window:
        """The windows in force: the global one where none was chosen."""
        return self.window or Global()

    @property
    def when(self) -> Trigger:
        """The trigger in force."""
        return self.trigger or DEFAULT_TRIGGER


def checked_windowing(
    window: Window,
    trigger: Trigger | None = None,
    refine: Refinement = discarding,
    allowed_lateness: Duration = 0,
    on_time: str = "always",
    closing: str = "if_changed",
    timestamp: str = "end",
    allow_data_loss: bool = False,
) -> Windowing:
    """Settings as a user gives them, each checked.

    >>> checked_windowing(Global(), allowed_lateness="1m").allowed_lateness
    60000000
    """
    return Windowing(
        window=checked_window(window),
        trigger=None if trigger is None else checked_trigger(trigger),
        refine=checked_refinement(refine),
        allowed_lateness=checked_lateness(allowed_lateness),
        on_time=checked_on_time(on_time),
        closing=checked_closing(closing),
        timestamp=checked_timestamp(timestamp),
        allow_data_loss=bool(allow_data_loss),
    )


def checked_lateness(value: Duration) -> int:
    """The allowed lateness in microseconds."""
    return not_negative(value, what="allowed_lateness")


def checked_on_time(value: object) -> OnTime:
    return one_of(value, "on_time", get_args(OnTime))


def checked_closing(value: object) -> Closing:
    return one_of(value, "closing", get_args(Closing))


def checked_timestamp(value: object) -> Timestamp:
    return one_of(value, "timestamp", get_args(Timestamp))


def checked_window(value: object) -> Window:
    example = "one, such as ms.fixed('1m') or ms.session('30m')"
    return _a(Window, value, "window takes a kind of windows", example)


def checked_trigger(value: object) -> Trigger:
    example = "one, such as ms.at_watermark() or ms.repeatedly(ms.after_count(100))"
    return _a(Trigger, value, "trigger takes a trigger", example)


def checked_refinement(value: object) -> Refinement:
    example = "ms.discarding, ms.accumulating or ms.retracting"
    return _a(Refinement, value, "refine takes a refinement", example)


def _a(kind: type[_T], value: object, takes: str, example: str) -> _T:
    if isinstance(value, kind):
        return value
    raise PlanError("MS113", f"{takes}, not {value!r}", fix=f"give {example}")
