"""Where in event time results are computed: the kinds of windows, and one window of them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, get_args
from zoneinfo import ZoneInfo, ZoneInfoNotFoundError

from millstream.model.durations import Duration, format_duration, microseconds, positive
from millstream.model.errors import PlanError, did_you_mean
from millstream.model.instants import END_OF_TIME, START_OF_TIME

CalendarUnit = Literal["day", "week", "month", "year"]

_LENGTHS = {"hour": "1h", "minute": "1m", "second": "1s"}
"""Words that look like calendar units, but have a fixed length."""


@dataclass(frozen=True, order=True, slots=True)
class Interval:
    """One window: all event times from ``start`` up to but not including ``end``.

    Windows that the order of rows makes also have an ``index``: they are counted for each key.
    """

    start: int
    end: int
    index: int | None = None


WHOLE_TIME = Interval(START_OF_TIME, END_OF_TIME)
"""The one window of ``global_window()``."""


@dataclass(frozen=True, slots=True)
class Window:
    """A kind of windows.

    ``merging`` kinds join windows of a key that overlap. Windows ``by_time`` depend on the event
    times of rows, and end by the watermark. Windows that are ``ordered`` depend on the order of a
    key's rows, are numbered, and end by their rows. All but the global window have ``ends``.
    """

    @property
    def merging(self) -> bool:
        return False

    @property
    def by_time(self) -> bool:
        return True

    @property
    def ordered(self) -> bool:
        return False

    @property
    def ends(self) -> bool:
        return True

    @property
    def by_watermark(self) -> bool:
        """Whether the watermark ends windows."""
        return self.by_time or not self.ends

    @property
    def uses_clock(self) -> bool:
        """Whether the clock alone may end windows."""
        return False


@dataclass(frozen=True, slots=True, repr=False)
class Fixed(Window):
    """Adjacent windows of one size."""

    size: int
    offset: int

    def __repr__(self) -> str:
        return f"fixed({_text(self.size)}{_offset(self.offset)})"


@dataclass(frozen=True, slots=True, repr=False)
class Sliding(Window):
    """Windows of one size, a new one starting each period."""

    size: int
    period: int
    offset: int

    def __repr__(self) -> str:
        return f"sliding({_text(self.size)}, {_text(self.period)}{_offset(self.offset)})"


@dataclass(frozen=True, slots=True, repr=False)
class Session(Window):
    """Windows of activity: events of a key closer together than the gap share one."""

    gap: int
    touching: bool

    @property
    def merging(self) -> bool:
        return True

    def __repr__(self) -> str:
        return f"session({_text(self.gap)}{', touching=True' if self.touching else ''})"


@dataclass(frozen=True, slots=True, repr=False)
class Global(Window):
    """One window for all of time."""

    @property
    def by_time(self) -> bool:
        return False

    @property
    def ends(self) -> bool:
        return False

    def __repr__(self) -> str:
        return "global_window()"


@dataclass(frozen=True, slots=True, repr=False)
class Calendar(Window):
    """Days, weeks (from Monday), months or years as a wall calendar in a time zone counts them."""

    unit: CalendarUnit
    timezone: str

    def __repr__(self) -> str:
        return f"calendar({self.unit!r}, timezone={self.timezone!r})"


def fixed(size: Duration, offset: Duration = 0) -> Fixed:
    """Adjacent windows of one size; ``offset`` moves their edges.

    >>> fixed("1h", offset="15m")
    fixed('1h', offset='15m')
    """
    length = positive(size, what="size")
    return Fixed(length, microseconds(offset, what="offset") % length)


def sliding(size: Duration, period: Duration, offset: Duration = 0) -> Sliding:
    """Windows of ``size``, a new one starting each ``period``: an event is in each that covers it.

    >>> sliding("1h", "5m")
    sliding('1h', '5m')
    """
    step = positive(period, what="period")
    return Sliding(positive(size, what="size"), step, microseconds(offset, what="offset") % step)


def session(gap: Duration, touching: bool = False) -> Session:
    """Windows of activity: an event joins those of its key that are less than ``gap`` away.

    Two events exactly a gap apart are two sessions; ``touching=True`` makes them one.

    >>> session("30m")
    session('30m')
    """
    return Session(positive(gap, what="gap"), bool(touching))


def global_window() -> Global:
    """One window for all of time. On an endless stream it needs a trigger.

    >>> global_window()
    global_window()
    """
    return Global()


def calendar(unit: str, timezone: str = "UTC") -> Calendar:
    """Days, weeks, months or years of a wall calendar, daylight saving and leap years included.

    >>> calendar("months", timezone="Europe/Paris")
    calendar('month', timezone='Europe/Paris')
    """
    units: tuple[CalendarUnit, ...] = get_args(CalendarUnit)
    for known in units:
        if unit in (known, known + "s"):
            return Calendar(known, _checked_zone(timezone))
    length = _LENGTHS.get(str(unit).removesuffix("s"))
    raise PlanError(
        "MS114",
        f"{unit!r} is not a calendar unit",
        fix=f"write ms.fixed({length!r})" if length else did_you_mean(str(unit), units),
    )


def _checked_zone(name: str) -> str:
    try:
        return ZoneInfo(name).key
    except (ZoneInfoNotFoundError, ValueError, TypeError, OSError):
        raise PlanError(
            "MS114",
            f"{name!r} is not a time zone",
            fix="use a name of the IANA database, such as 'UTC' or 'Europe/Paris'",
        ) from None


def _text(us: int) -> str:
    return repr(format_duration(us))


def _offset(us: int) -> str:
    return f", offset={_text(us)}" if us else ""
