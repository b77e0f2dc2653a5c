"""Where elements go, for all of them at once: assigning windows, and merging those of sessions."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from millstream.model.instants import END_OF_TIME, FIRST, LAST
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


def assigned(window: Window, elements: pl.DataFrame) -> pl.DataFrame:
    """The elements, once for each of their windows, with ``start`` and ``end``.

    An element that falls between sliding windows comes once, with nulls.
    """
    time = pl.col("time")
    match window:
        case Global():
            bounds = elements.with_columns(
                start=pl.lit(WHOLE_TIME.start), end=pl.lit(WHOLE_TIME.end)
            )
        case Fixed(size, offset):
            bounds = _ending_after(size, elements.with_columns(start=_start(time, size, offset)))
        case Sliding():
            bounds = _ending_after(window.size, _sliding_starts(window, elements))
        case Session(gap, _):
            bounds = _ending_after(gap, elements.with_columns(start=time))
        case Calendar():
            bounds = _on_the_calendar(window, elements)
        case _:
            raise AssertionError(window)
    return bounds


def _start(time: pl.Expr, period: int, offset: int) -> pl.Expr:
    """The last start, at an offset from multiples of the period, that is not after the time."""
    # Polars' % takes the sign of the divisor: the floored modulo, right before 1970 too.
    return time - (time - offset % period) % period


def _ending_after(size: int, starts: pl.DataFrame) -> pl.DataFrame:
    # A pane of the global window is as late as time goes: start + size may be beyond it.
    start = pl.col("start").cast(pl.Int64)
    return starts.with_columns(end=start.clip(upper_bound=END_OF_TIME - size) + size)


def _sliding_starts(window: Sliding, elements: pl.DataFrame) -> pl.DataFrame:
    time = pl.col("time")
    newest = _start(time, window.period, window.offset)
    # Starts s = newest, newest - period, … while s > time - size; none where newest is too old.
    count = (newest - (time - window.size) - 1) // window.period + 1
    steps = pl.int_ranges(0, pl.max_horizontal(count, pl.lit(0)), dtype=pl.Int64)
    exploded = elements.with_columns(newest=newest, step=steps).explode("step", empty_as_null=True)
    return exploded.with_columns(start=pl.col("newest") - pl.col("step") * window.period).drop(
        "newest", "step"
    )


def _on_the_calendar(window: Calendar, elements: pl.DataFrame) -> pl.DataFrame:
    # Local days are few, so their windows come from the reference, one day at a time; a day with
    # two offsets from UTC may have a part that belongs to its neighbour.
    time = pl.col("time").clip(FIRST, LAST)  # the calendar has no days beyond
    zoned = pl.from_epoch(time, "us").dt.replace_time_zone("UTC")
    local = zoned.dt.convert_time_zone(window.timezone).dt.replace_time_zone(None)
    days = elements.with_columns(day=local.dt.date(), ahead=local.dt.epoch("us") - time)
    firsts = days.group_by("day", "ahead").agg(pl.col("time").first())
    bounds = [calendar_interval(window, time) for time in firsts["time"]]
    table = firsts.select("day", "ahead").with_columns(
        start=pl.Series([b.start for b in bounds], dtype=pl.Int64),
        end=pl.Series([b.end for b in bounds], dtype=pl.Int64),
    )
    joined = days.join(table, on=["day", "ahead"], how="left", maintain_order="left")
    return joined.drop("day", "ahead")


def joins(window: Window) -> pl.Expr:
    """Whether the window ``start``, ``end`` is the one of ``other_start``, or would join it."""
    start, end = pl.col("start"), pl.col("end")
    other_start, other_end = pl.col("other_start"), pl.col("other_end")
    match window:
        case Session(touching=True):
            return (start <= other_end) & (end >= other_start)
        case Session():
            return (start < other_end) & (end > other_start)
    return (start == other_start) & (end == other_end)


def with_unions(window: Window, table: pl.DataFrame, keys: Sequence[str]) -> pl.DataFrame:
    """The table with ``union_start`` and ``union_end``: what its windows become part of."""
    if not isinstance(window, Session):
        return table.with_columns(union_start="start", union_end="end")
    reach = (
        pl.col("end").cum_max().shift(1).over(keys) if keys else pl.col("end").cum_max().shift(1)
    )
    apart = pl.col("start") > reach if window.touching else pl.col("start") >= reach
    table = table.sort(*keys, "start", "end", maintain_order=True)
    table = table.with_columns(group=apart.fill_null(True).cum_sum())
    return table.with_columns(
        union_start=pl.col("start").min().over("group"), union_end=pl.col("end").max().over("group")
    ).drop("group")
