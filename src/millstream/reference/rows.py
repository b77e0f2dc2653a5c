"""Rows on their way through a program: what users see, plus event time and kind."""

from __future__ import annotations

import math
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from millstream.model.errors import PlanError
from millstream.model.instants import END_OF_TIME, START_OF_TIME, instant, number_instant
from millstream.model.panes import Kind
from millstream.model.time_units import UNITS, TimeUnit, Unit
from millstream.model.windows import Interval
from millstream.reference.elements import Emission, Late

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@dataclass(frozen=True, slots=True)
class Row:
    """The columns of a row; its event time, once a step has set it; and its kind.

    A retraction repeats the row that it takes back, column for column, save ``kind``. Its ``place``
    is where it was in its source, by which rows of one event time are sorted. What a grouping emits
    also has the pane or the late element that it was made of.
    """

    values: dict[str, Any]
    time: int | None = None
    kind: Kind = "+"
    place: Any = None
    made_of: Emission | Late | None = None


def row_order(row: Row) -> tuple[int, Any]:
    """The order of rows, where that counts: by event time, then by place."""
    return (START_OF_TIME if row.time is None else row.time, row.place)


def event_time(value: Any, unit: TimeUnit = "s") -> int:
    """The instant that a column's value names: a timestamp, a date, or a number of that unit.

    A timestamp without a zone is in UTC, as everywhere in Millstream.
    """
    if isinstance(value, datetime):
        return instant(value if value.tzinfo else value.replace(tzinfo=UTC))
    if isinstance(value, date):
        return instant(datetime(value.year, value.month, value.day, tzinfo=UTC))
    if isinstance(value, Decimal):
        return number_instant(float(value), unit)
    if isinstance(value, int | float):
        return number_instant(value, unit)
    raise PlanError("MS118", f"{value!r} is not a point in time", fix="give a timestamp")


LOOKS_LIKE = "looks like"
"""What the reason contains for a number that is likely to be of another unit."""


def why_no_time(value: Any, unit: TimeUnit = "s") -> str:
    """Why a column's value is no event time; which value it was is in the rejected record.

    >>> why_no_time(None), why_no_time(float("nan")), why_no_time(10**20)
    ('it is null', 'it is no point in time', 'it is outside the years 1 to 9999')
    >>> why_no_time(1_763_400_000_000)
    "it is outside the years 1 to 9999, and looks like milliseconds: write unit='ms'"
    """
    if value is None:
        return "it is null"
    if isinstance(value, float | Decimal) and not math.isfinite(value):
        return "it is no point in time"
    outside = "it is outside the years 1 to 9999"
    for other in finer_units(unit):
        if isinstance(value, int | float | Decimal) and other.first <= value <= other.last:
            return f"{outside}, and {LOOKS_LIKE} {other.name}: write unit={other.symbol!r}"
    return outside


def finer_units(unit: TimeUnit) -> list[Unit]:
    """The units whose numbers for the years 2000 to 2100 are too large for ``unit``."""
    return [other for other in UNITS.values() if other.in_a_second > UNITS[unit].in_a_second]


def timestamp(us: int) -> datetime | None:
    """An instant as a column's value; null at the ends of time."""
    if not START_OF_TIME < us < END_OF_TIME:
        return None
    try:
        return _EPOCH + timedelta(microseconds=us)
    except OverflowError:
        return None  # beyond the years 1 to 9999 of any timestamp column


def pane_row(
    emission: Emission, keys: tuple[str, ...], aggregates: tuple[str, ...], retracting: bool
) -> Row:
    """A pane as a row: its key, its aggregates, then ``window``, ``pane`` and ``kind``."""
    info = emission.taken_back or emission.info
    values = {
        **dict(zip(keys, emission.key, strict=True)),
        **dict(zip(aggregates, emission.value, strict=True)),
        "window": _window(emission.window),
        "pane": {
            "timing": info.timing,
            "index": info.index,
            "first": info.first,
            "last": info.last,
        },
    }
    if retracting:
        values["kind"] = emission.kind
    return Row(values, emission.timestamp, emission.kind, made_of=emission)


def late_row(late: Late) -> Row:
    """A late element as a row of a grouping's late output."""
    window = None if late.window is None else _window(late.window)
    values = {**late.element.value, "window": window, "reason": late.reason}
    return Row(values, late.element.time, late.element.kind, made_of=late)


def _window(window: Interval) -> dict[str, Any]:
    bounds = {"start": timestamp(window.start), "end": timestamp(window.end)}
    return bounds if window.index is None else {**bounds, "index": window.index}
