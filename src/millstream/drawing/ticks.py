"""Round marks along an axis of time, and how they are written."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Literal

from millstream.drawing.words import MINUS

Reading = Literal["seconds", "clock", "utc"]
"""Plain seconds; seconds since midnight, as hours and minutes; or instants of the calendar."""

_MINUTE, _HOUR, _DAY = 60, 3600, 86400
_OLDEST_DATE = 300_000_000  # mid-1979: smaller numbers are probably not dates
_NEWEST_DATE = 253_402_300_799  # the end of 9999, where datetime ends
_ROUND_SECONDS = (1, 2, 5, 10, 20, 30, 60, 120, 300, 600, 1200, 1800, 3600)
_ROUND_TIMES = (
    *(1, 2, 5, 10, 15, 20, 30),
    *(_MINUTE * n for n in (1, 2, 5, 10, 15, 20, 30)),
    *(_HOUR * n for n in (1, 2, 3, 6, 12)),
    *(_DAY * n for n in (1, 2, 7, 14, 30, 91, 182, 365, 730, 1825, 3650, 36500, 365000)),
)


def reading_of(times: Sequence[float]) -> Reading:
    """The probable meaning of the numbers.

    >>> reading_of([0, 30]), reading_of([43_200, 43_500]), reading_of([1.7e9])
    ('seconds', 'clock', 'utc')
    """
    if not times:
        return "seconds"
    if min(times) >= _OLDEST_DATE and max(times) <= _NEWEST_DATE:
        return "utc"
    of_a_day = min(times) >= 0 and max(times) <= 2 * _DAY
    hours = sum(time > _HOUR for time in times)
    return "clock" if of_a_day and 2 * hours > len(times) else "seconds"


@dataclass(frozen=True, slots=True)
class Ticks:
    """Marks ``every`` so many seconds from ``low`` to ``high``, read in one way.

    >>> ticks = Ticks.between(43_190, 43_700, reading="clock", most=5)
    >>> [ticks.label(mark) for mark in ticks.marks()]
    ['12:00', '12:02', '12:04', '12:06', '12:08']
    """

    low: float
    high: float
    every: float
    reading: Reading

    @classmethod
    def between(cls, low: float, high: float, *, reading: Reading, most: int) -> Ticks:
        """At most ``most`` marks, as many as are round."""
        return cls(low, high, _step((high - low) / max(most, 1), reading), reading)

    def marks(self) -> list[float]:
        first, last = math.ceil(self.low / self.every), math.floor(self.high / self.every)
        return [count * self.every for count in range(first, last + 1)]

    def label(self, mark: float) -> str:
        """A mark as it is written at the axis."""
        if self.reading == "seconds":
            return _plain(mark, self.every)
        if self.reading == "utc" and (self.every >= _DAY or mark % _DAY == 0):
            return _date(mark).strftime("%Y-%m-%d" if self.every > 180 * _DAY else "%b %d")
        return _time_of_day(mark if self.reading == "clock" else mark % _DAY, self.every)

    def exact(self, time: float) -> str:
        """Any time, to the microsecond where it needs that.

        >>> Ticks(0, 1, 1, "clock").exact(43_226.5), Ticks(0, 1, 1, "utc").exact(1_709_640_000)
        ('12:00:26.5', '2024-03-05 12:00:00')
        """
        if math.isinf(time):
            return "∞" if time > 0 else f"{MINUS}∞"
        if self.reading == "seconds" or not 0 <= time <= _NEWEST_DATE:
            return _plain(time, 0)
        if self.reading == "clock":
            return _time_of_day(time, 0)
        return f"{_date(time):%Y-%m-%d} {_time_of_day(time % _DAY, 0)}"

    def unit(self) -> str:
        """The text next to the axis' name.

        >>> Ticks(1_709_640_000, 1_709_640_600, 60, "utc").unit()
        '2024-03-05, UTC'
        """
        if self.reading != "utc":
            return "seconds" if self.reading == "seconds" else ""
        first, last = f"{_date(self.low):%Y-%m-%d}", f"{_date(self.high):%Y-%m-%d}"
        return f"{first}, UTC" if first == last else f"{first} to {last}, UTC"


def _step(least: float, reading: Reading) -> float:
    rounds = _ROUND_SECONDS if reading == "seconds" else _ROUND_TIMES
    if 0.5 < least <= rounds[-1]:
        return next(step for step in rounds if step >= least)
    power = 10.0 ** math.floor(math.log10(max(least, 1e-6)))
    return next(step for n in (1, 2, 5, 10) if (step := n * power) >= least * (1 - 1e-9))


def _plain(time: float, every: float) -> str:
    if every >= 1:
        return f"{time:,.0f}".replace("-", MINUS)
    digits = 6 if not every else max(0, math.ceil(-math.log10(every) - 1e-9))
    number = f"{time:,.{digits}f}"
    return (number.rstrip("0").rstrip(".") if not every else number).replace("-", MINUS)


def _time_of_day(time: float, every: float) -> str:
    minutes, seconds = divmod(round(time, 6), _MINUTE)
    hours, minutes = divmod(int(minutes), 60)
    if every and every % _MINUTE == 0:
        return f"{hours:02}:{minutes:02}"
    fraction = _plain(seconds % 1, every if every < 1 else 1 if every else 0)
    digits = fraction.removeprefix("0") if fraction.startswith("0.") else ""
    return f"{hours:02}:{minutes:02}:{int(seconds):02}{digits}"


def _date(time: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=time)
