"""Units of numbers that are points in time: so many of them since 1970-01-01 UTC."""

from __future__ import annotations

from dataclasses import dataclass
from decimal import Decimal
from typing import Literal

TimeUnit = Literal["s", "ms", "us", "ns"]
"""What a number that is a point in time counts."""
Number = int | float | Decimal


@dataclass(frozen=True, slots=True)
class Unit:
    """A unit, and what is needed to convert its numbers into microseconds.

    Numbers are multiplied by ``factor`` and divided by ``divisor``, one of which is 1. Integers are
    rounded down, and floats to the nearest microsecond.
    """

    symbol: TimeUnit
    name: str
    in_a_second: int

    @property
    def factor(self) -> int:
        """How many microseconds one of this unit is; 1 if it is less than one."""
        return max(1, 1_000_000 // self.in_a_second)

    @property
    def divisor(self) -> int:
        """How many of this unit are one microsecond; 1 if it is more than one."""
        return max(1, self.in_a_second // 1_000_000)

    def micros(self, number: int | float) -> int:
        """The number in microseconds.

        >>> UNITS["ms"].micros(1500), UNITS["s"].micros(0.25), UNITS["ns"].micros(-1)
        (1500000, 250000, -1)
        """
        if isinstance(number, int):
            return number * self.factor // self.divisor
        return round(number * self.factor / self.divisor)

    def number(self, micros: int) -> int:
        """How many of this unit so many microseconds are.

        >>> UNITS["ms"].number(1_500_000)
        1500
        """
        return micros * self.divisor // self.factor

    @property
    def first(self) -> int:
        """The year 2000 in this unit."""
        return 946_684_800 * self.in_a_second

    @property
    def last(self) -> int:
        """The year 2100 in this unit."""
        return 4_102_444_800 * self.in_a_second


UNITS: dict[TimeUnit, Unit] = {
    unit.symbol: unit
    for unit in (
        Unit("s", "seconds", 1),
        Unit("ms", "milliseconds", 10**3),
        Unit("us", "microseconds", 10**6),
        Unit("ns", "nanoseconds", 10**9),
    )
}


def likely_unit(unit: TimeUnit, least: Number, greatest: Number) -> Unit | None:
    """The coarser unit that numbers are more likely of: with it, all are in the years 2000 to 2100.

    Read in too fine a unit, they are all in 1970, which is no error by itself.

    >>> likely_unit("ms", 1_763_400_061, 1_763_400_075)
    Unit(symbol='s', name='seconds', in_a_second=1)
    >>> likely_unit("ms", 1_763_400_061_500, 1_763_400_075_000)
    """
    for other in UNITS.values():
        is_coarser = other.in_a_second < UNITS[unit].in_a_second
        if is_coarser and other.first <= least <= greatest <= other.last:
            return other
    return None


def unit_hint(column: str, unit: TimeUnit, least: Number, greatest: Number) -> str | None:
    """What to write instead, if the numbers of a column are likely to be of another unit.

    >>> unit_hint("ts", "ms", 1_763_400_061, 1_763_400_075)
    "ts = 1763400075 as milliseconds is in 1970, and looks like seconds: write unit='s'"
    """
    other = likely_unit(unit, least, greatest)
    if other is None:
        return None
    about = f"{column} = {greatest} as {UNITS[unit].name} is in 1970"
    return f"{about}, and looks like {other.name}: write unit={other.symbol!r}"
