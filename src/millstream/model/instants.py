"""Points in time. Everywhere inside, an instant is microseconds since 1970-01-01 UTC."""

from __future__ import annotations

import math
from datetime import UTC, datetime, timedelta

from millstream.model.durations import FOREVER
from millstream.model.errors import PlanError
from millstream.model.time_units import UNITS, TimeUnit

Instant = int | float | datetime | str
"""What a user may write for a point in time; numbers are seconds since 1970-01-01 UTC."""

END_OF_TIME = FOREVER
"""No event is at or after this; a watermark here means that the input has ended."""
START_OF_TIME = -FOREVER
"""No event is before this; the watermark of an input that has not begun."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
FIRST = (datetime.min.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)
LAST = (datetime.max.replace(tzinfo=UTC) - _EPOCH) // timedelta(microseconds=1)


def instant(value: Instant, *, what: str = "time") -> int:
    """The instant in microseconds since 1970-01-01 UTC.

    >>> instant(1.5), instant("1970-01-01T00:00:02+00:00"), instant("1970-01-01 01:00:00Z")
    (1500000, 2000000, 3600000000)
    """
    if isinstance(value, bool):
        raise _unreadable(value, what)
    if isinstance(value, int | float):
        return number_instant(value, "s", what=what)
    if isinstance(value, str):
        try:
            value = datetime.fromisoformat(value)
        except ValueError:
            raise _unreadable(value, what) from None
    if isinstance(value, datetime):
        if value.tzinfo is None:
            raise PlanError(
                "MS118",
                f"{what} {value.isoformat()!r} has no time zone, so it names no instant",
                fix="add one, such as tzinfo=UTC or '+00:00' at the end of text",
            )
        return (value - _EPOCH) // timedelta(microseconds=1)
    raise _unreadable(value, what)


def number_instant(value: int | float, unit: TimeUnit, *, what: str = "time") -> int:
    """The instant that a number of that unit since 1970-01-01 UTC names.

    >>> number_instant(1500, "ms"), number_instant(0.25, "s")
    (1500000, 250000)
    """
    if not math.isfinite(value):
        raise _unreadable(value, what)
    return _in_range(UNITS[unit].micros(value), value, what)


def seconds(us: int) -> float:
    """An instant as seconds since 1970-01-01 UTC; the ends of time are infinite.

    >>> seconds(1_500_000), seconds(END_OF_TIME)
    (1.5, inf)
    """
    if us >= END_OF_TIME:
        return math.inf
    if us <= START_OF_TIME:
        return -math.inf
    return us / 1_000_000


def _in_range(us: int, value: object, what: str) -> int:
    if not FIRST <= us <= LAST:
        raise PlanError(
            "MS118",
            f"{what} {value!r} is outside the years 1 to 9999",
            fix="write seconds, not milliseconds, since 1970-01-01 UTC",
        )
    return us


def _unreadable(value: object, what: str) -> PlanError:
    return PlanError(
        "MS118",
        f"{what} {value!r} is not a point in time",
        fix="write seconds since 1970-01-01 UTC, a datetime with a time zone, or ISO 8601 text",
    )
