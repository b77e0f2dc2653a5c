"""Where elements go, for all of them at once: an object for each kind of windows."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.model.clock_windows import ByClock
from millstream.model.instants import END_OF_TIME, FIRST, LAST, START_OF_TIME
from millstream.model.windows import (
    WHOLE_TIME,
    Calendar,
    Fixed,
    Global,
    Session,
    Sliding,
    Window,
)
from millstream.reference.windows import calendar_interval

_START, _END = pl.col("start"), pl.col("end")
_OTHER_START, _OTHER_END = pl.col("other_start"), pl.col("other_end")


class Windows(ABC):
    """The windows of one kind: what a grouping asks of them, over tables."""

    @property
    def are_buckets(self) -> bool:
        """Whether windows are the same for all keys and end, so that each can be a bucket."""
        return True

    @property
    def identity(self) -> tuple[str, ...]:
        """The columns that name a window of a key."""
        return ("start", "end")

    def bounds(self) -> list[pl.Expr]:
        """Aggregates that make the bounds of a window, where they do not name it."""
        return []

    @abstractmethod
    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        """The elements, once for each of their windows, with ``start`` and ``end``.

        An element that falls between windows comes once, with nulls.
        """

    def assigned(self, elements: pl.DataFrame, now: int) -> pl.DataFrame:
        """The same for elements that are processed ``now``."""
        return self.assign(elements)

    def joins(self) -> pl.Expr:
        """Whether the window ``start``, ``end`` is the one of ``other_start``, or would join it."""
        return (_START == _OTHER_START) & (_END == _OTHER_END)

    def merge(self, table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        """The table with ``union_start`` and ``union_end``: what its windows become part of."""
        return table.with_columns(union_start="start", union_end="end")

    def ended(self, watermark: int, now: int) -> pl.Expr:
        """Whether a window has ended."""
        return watermark >= _END

    def expired(self, watermark: int, allowed_lateness: int, now: int = 0) -> pl.Expr:
        """Whether a window has expired, with all of its state."""
        if watermark >= END_OF_TIME:
            return pl.lit(True)
        # Not end + lateness, which may be more than a column can hold.
        return max(watermark - allowed_lateness, START_OF_TIME) >= _END


@dataclass(frozen=True)
class GlobalWindows(Windows):
    """All of time is one window."""

    kind: Global

    @property
    def are_buckets(self) -> bool:
        return False

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        whole = WHOLE_TIME
        return elements.with_columns(start=pl.lit(whole.start), end=pl.lit(whole.end))


@dataclass(frozen=True)
class FixedWindows(Windows):
    """Each instant is in one window of a size."""

    kind: Fixed

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        size, offset = self.kind.size, self.kind.offset
        start = _last_start(pl.col("time"), size, offset)
        return ending_after(size, elements.with_columns(start=start))


@dataclass(frozen=True)
class SlidingWindows(Windows):
    """Each instant is in all windows that cover it."""

    kind: Sliding

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        size, period, time = self.kind.size, self.kind.period, pl.col("time")
        newest = _last_start(time, period, self.kind.offset)
        # Starts s = newest, newest - period, … while s > time - size; none where newest is too old.
        count = (newest - (time - size) - 1) // period + 1
        steps = pl.int_ranges(0, pl.max_horizontal(count, pl.lit(0)), dtype=pl.Int64)
        repeated = elements.with_columns(newest=newest, step=steps)
        repeated = repeated.explode("step", empty_as_null=True)
        starts = repeated.with_columns(start=pl.col("newest") - pl.col("step") * period)
        return ending_after(size, starts.drop("newest", "step"))


@dataclass(frozen=True)
class Sessions(Windows):
    """An element starts a session of its own, which merges with those of its key nearby."""

    kind: Session

    @property
    def are_buckets(self) -> bool:
        return False

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        return ending_after(self.kind.gap, elements.with_columns(start=pl.col("time")))

    def joins(self) -> pl.Expr:
        if self.kind.touching:
            return (_START <= _OTHER_END) & (_END >= _OTHER_START)
        return (_START < _OTHER_END) & (_END > _OTHER_START)

    def merge(self, table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        reach = _END.cum_max().shift(1)
        reach = reach.over(keys) if keys else reach
        apart = reach < _START if self.kind.touching else reach <= _START
        table = table.sort(*keys, "start", "end", maintain_order=True)
        table = table.with_columns(group=apart.fill_null(True).cum_sum())
        union_start, union_end = _START.min().over("group"), _END.max().over("group")
        return table.with_columns(union_start=union_start, union_end=union_end).drop("group")


@dataclass(frozen=True)
class CalendarWindows(Windows):
    """Each instant is in one day, week, month or year."""

    kind: Calendar

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        # Local days are few, so their windows come from the reference, one day at a time; a day
        # with two offsets from UTC may have a part that belongs to its neighbour.
        time = pl.col("time").clip(FIRST, LAST)  # the calendar has no days beyond
        zoned = pl.from_epoch(time, "us").dt.replace_time_zone("UTC")
        local = zoned.dt.convert_time_zone(self.kind.timezone).dt.replace_time_zone(None)
        days = elements.with_columns(day=local.dt.date(), ahead=local.dt.epoch("us") - time)
        firsts = days.group_by("day", "ahead").agg(pl.col("time").first())
        bounds = [calendar_interval(self.kind, time) for time in firsts["time"]]
        table = firsts.select("day", "ahead").with_columns(
            start=pl.Series([b.start for b in bounds], dtype=pl.Int64),
            end=pl.Series([b.end for b in bounds], dtype=pl.Int64),
        )
        joined = days.join(table, on=["day", "ahead"], how="left", maintain_order="left")
        return joined.drop("day", "ahead")


@dataclass(frozen=True)
class ClockWindows(Windows):
    """Each element is in the windows of the clock, which ends them; so does the end of input."""

    kind: ByClock

    @property
    def inner(self) -> Windows:
        return windows_of(self.kind.window)

    @property
    def are_buckets(self) -> bool:
        return False

    def assign(self, elements: pl.DataFrame) -> pl.DataFrame:
        raise AssertionError("the windows of rows depend on the clock")

    def assigned(self, elements: pl.DataFrame, now: int) -> pl.DataFrame:
        at = elements.with_columns(pl.col("time").alias("own time"), time=pl.lit(now, pl.Int64))
        return self.inner.assign(at).with_columns(time="own time").drop("own time")

    def joins(self) -> pl.Expr:
        return self.inner.joins()

    def merge(self, table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
        return self.inner.merge(table, keys)

    def ended(self, watermark: int, now: int) -> pl.Expr:
        return pl.lit(True) if watermark >= END_OF_TIME else now >= _END

    def expired(self, watermark: int, allowed_lateness: int, now: int = 0) -> pl.Expr:
        return self.ended(watermark, now)


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


def _last_start(time: pl.Expr, period: int, offset: int) -> pl.Expr:
    """The last start, at an offset from multiples of the period, that is not after the time."""
    # Polars' % takes the sign of the divisor: the floored modulo, right before 1970 too.
    return time - (time - offset % period) % period


def ending_after(size: int, starts: pl.DataFrame) -> pl.DataFrame:
    """The windows of a size that begin at these starts."""
    # A pane of the global window is as late as time goes: start + size may be beyond it.
    start = _START.cast(pl.Int64)
    return starts.with_columns(end=start.clip(upper_bound=END_OF_TIME - size) + size)
