"""Where elements go: an object for each kind of windows assigns, merges and expires them (§1)."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from functools import lru_cache
from typing import Any
from zoneinfo import ZoneInfo

from millstream.model.clock_windows import ByClock
from millstream.model.instants import END_OF_TIME, FIRST, LAST, START_OF_TIME
from millstream.model.windows import (
    WHOLE_TIME,
    Calendar,
    CalendarUnit,
    Fixed,
    Global,
    Interval,
    Session,
    Sliding,
    Window,
)

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_MICROSECOND = timedelta(microseconds=1)


class Windows(ABC):
    """The windows of one kind: what a grouping asks of them."""

    @abstractmethod
    def assign(self, time: int) -> list[Interval]:
        """The windows that an element at ``time`` falls into; later starts last."""

    def merge(self, intervals: Iterable[Interval]) -> dict[Interval, list[Interval]]:
        """The unions of the intervals that belong together, each with its members."""
        return {interval: [interval] for interval in sorted(set(intervals))}

    def instant(self, time: int, now: int) -> int:
        """The time that counts for an element at event time ``time`` that is processed ``now``."""
        return time

    def ended(self, interval: Interval, watermark: int, now: int) -> bool:
        """Whether the window has ended."""
        return watermark >= interval.end

    def expired(self, interval: Interval, watermark: int, now: int, lateness: int) -> bool:
        """Whether the window has expired, with all of its state."""
        return watermark >= min(interval.end + lateness, END_OF_TIME)


@dataclass(frozen=True)
class GlobalWindows(Windows):
    """All of time is one window."""

    kind: Global

    def assign(self, time: int) -> list[Interval]:
        return [WHOLE_TIME]


@dataclass(frozen=True)
class FixedWindows(Windows):
    """Each instant is in one window of a size."""

    kind: Fixed

    def assign(self, time: int) -> list[Interval]:
        # Python's % is the floored modulo, right for times before 1970 too.
        start = time - (time - self.kind.offset) % self.kind.size
        return [_interval(start, self.kind.size)]


@dataclass(frozen=True)
class SlidingWindows(Windows):
    """Each instant is in all windows that cover it."""

    kind: Sliding

    def assign(self, time: int) -> list[Interval]:
        size, period = self.kind.size, self.kind.period
        newest = time - (time - self.kind.offset) % period
        starts = range(newest, time - size, -period)
        return [_interval(start, size) for start in reversed(starts)]


@dataclass(frozen=True)
class Sessions(Windows):
    """An element starts a session of its own, which merges with those of its key nearby."""

    kind: Session

    def assign(self, time: int) -> list[Interval]:
        return [_interval(time, self.kind.gap)]

    def merge(self, intervals: Iterable[Interval]) -> dict[Interval, list[Interval]]:
        merged: dict[Interval, list[Interval]] = {}
        current: list[Interval] = []
        reach = 0
        for interval in sorted(set(intervals)):
            touches = self.kind.touching and interval.start == reach
            if current and (interval.start < reach or touches):
                current.append(interval)
                reach = max(reach, interval.end)
                continue
            if current:
                merged[Interval(current[0].start, reach)] = current
            current, reach = [interval], interval.end
        if current:
            merged[Interval(current[0].start, reach)] = current
        return merged


@dataclass(frozen=True)
class CalendarWindows(Windows):
    """Each instant is in one day, week, month or year."""

    kind: Calendar

    def assign(self, time: int) -> list[Interval]:
        return [calendar_interval(self.kind, time)]


@dataclass(frozen=True)
class ClockWindows(Windows):
    """Each element is in the windows of the clock, which ends them; so does the end of input."""

    kind: ByClock

    @property
    def inner(self) -> Windows:
        return windows_of(self.kind.window)

    def assign(self, time: int) -> list[Interval]:
        return self.inner.assign(time)

    def merge(self, intervals: Iterable[Interval]) -> dict[Interval, list[Interval]]:
        return self.inner.merge(intervals)

    def instant(self, time: int, now: int) -> int:
        return now

    def ended(self, interval: Interval, watermark: int, now: int) -> bool:
        return now >= interval.end or watermark >= END_OF_TIME

    def expired(self, interval: Interval, watermark: int, now: int, lateness: int) -> bool:
        return self.ended(interval, watermark, now)


_WINDOWS: dict[type[Window], Callable[[Any], Windows]] = {
    Global: GlobalWindows,
    Fixed: FixedWindows,
    Sliding: SlidingWindows,
    Session: Sessions,
    Calendar: CalendarWindows,
    ByClock: ClockWindows,
}


def windows_of(kind: Window) -> Windows:
    """The windows of a kind."""
    if type(kind) not in _WINDOWS:
        raise TypeError(f"an unknown kind of windows: {kind!r}")
    return _WINDOWS[type(kind)](kind)


def _interval(start: int, size: int) -> Interval:
    # A pane of the global window is as late as time goes; nothing ends after that.
    return Interval(start, min(start + size, END_OF_TIME))


def calendar_interval(window: Calendar, time: int) -> Interval:
    """The day, week, month or year of the wall calendar that holds ``time``."""
    zone = ZoneInfo(window.timezone)
    time = min(max(time, FIRST), LAST)  # the calendar has no days beyond
    first = _first_day(window.unit, _local_day(time, zone))
    interval = _calendar_interval_from(first, window.unit, zone)
    if time >= interval.end:  # the clock was set back over midnight: that day has begun already
        first = _next_first_day(window.unit, first)
        interval = _calendar_interval_from(first, window.unit, zone)
    return interval


def _calendar_interval_from(first: date, unit: CalendarUnit, zone: ZoneInfo) -> Interval:
    try:
        end = _beginning(_next_first_day(unit, first), zone)
    except (ValueError, OverflowError):
        end = END_OF_TIME  # the calendar ends with the year 9999
    return Interval(_beginning(first, zone), end)


def _local_day(time: int, zone: ZoneInfo) -> date:
    moment = _EPOCH + time * _MICROSECOND
    try:
        return moment.astimezone(zone).date()
    except OverflowError:
        return moment.date()  # in its zone this is the year 0 or 10000


def _first_day(unit: CalendarUnit, day: date) -> date:
    match unit:
        case "day":
            return day
        case "week":
            return day - timedelta(days=day.weekday())
        case "month":
            return day.replace(day=1)
        case "year":
            return day.replace(month=1, day=1)


def _next_first_day(unit: CalendarUnit, first: date) -> date:
    match unit:
        case "day":
            return first + timedelta(days=1)
        case "week":
            return first + timedelta(days=7)
        case "month":
            return (first + timedelta(days=31)).replace(day=1)
        case "year":
            return first.replace(year=first.year + 1)


@lru_cache(maxsize=4096)
def _beginning(day: date, zone: ZoneInfo) -> int:
    """The first instant whose local date is ``day`` or later, so that days divide time.

    It is the first of two midnights where clocks go back over it, and the jump where they go
    forward over it.
    """
    if day == date.min:
        return START_OF_TIME
    midnight = datetime(day.year, day.month, day.day, tzinfo=zone)
    folds = _instant(midnight), _instant(midnight.replace(fold=1))
    before, after = min(folds), max(folds)
    if _local_day(before, zone) >= day:
        return before
    while after - before > 1:
        middle = (before + after) // 2
        if _local_day(middle, zone) < day:
            before = middle
        else:
            after = middle
    return after


def _instant(local: datetime) -> int:
    return (local.astimezone(UTC) - _EPOCH) // _MICROSECOND
