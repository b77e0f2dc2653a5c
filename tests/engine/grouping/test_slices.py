"""The numbers of slices, and of the windows that they are in, against windows one by one."""

from __future__ import annotations

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.grouping.slices import Slices
from millstream.model.instants import END_OF_TIME
from millstream.model.windows import Interval, Sliding
from millstream.reference.windows import windows_of

KINDS = st.builds(
    lambda period, more, offset: Sliding(period + more, period, offset % period),
    st.integers(1, 9),
    st.integers(1, 30),
    st.integers(0, 8),
)
TIMES = st.one_of(st.integers(-100, 100), st.integers(END_OF_TIME - 60, END_OF_TIME - 1))


def number_of(slices: Slices, time: int) -> int:
    return pl.select(slices.number(pl.lit(time, pl.Int64))).item()


def interval(kind: Sliding, window: int) -> Interval:
    start = kind.offset + window * kind.period
    return Interval(start, min(start + kind.size, END_OF_TIME))


@given(KINDS, TIMES)
def test_a_slice_is_in_the_windows_that_its_elements_are_in(kind, time):
    slices = Slices(kind)
    slice = number_of(slices, time)
    found = range(slices.oldest(slice), slices.newest(slice) + 1)
    assert sorted(interval(kind, w) for w in found) == sorted(windows_of(kind).assign(time))
    assert all(w * slices.edges <= slice < w * slices.edges + slices.across for w in found)


@given(KINDS, TIMES, st.integers(-40, 40))
def test_the_next_end_is_the_first_of_its_windows_after_the_watermark(kind, time, ahead):
    slices, watermark = Slices(kind), min(time + ahead, END_OF_TIME - 1)
    slice = number_of(slices, time)
    ends = [window.end for window in windows_of(kind).assign(time) if window.end > watermark]
    live = slices.live(pl.Series([slice]), watermark).to_list()
    assert live == ([slice] if ends else [])
    if ends:
        assert slices.next_end(slice, watermark) == min(ends)


@given(KINDS, TIMES, st.integers(-40, 40))
def test_elements_behind_the_watermark_are_in_their_windows_that_have_ended(kind, time, ahead):
    slices, watermark = Slices(kind), min(time + ahead, END_OF_TIME)
    rows = pl.DataFrame({"key": ["a"], "time": [time]}).with_columns(
        slice=slices.number(pl.col("time"))
    )
    found = [
        Interval(*bounds) for bounds in slices.in_ended(rows, watermark)["start", "end"].rows()
    ]
    assert sorted(found) == sorted(w for w in windows_of(kind).assign(time) if w.end <= watermark)


def test_at_the_end_of_time_no_slice_is_live():
    slices = Slices(Sliding(10, 1, 0))
    assert slices.live(pl.Series([END_OF_TIME - 1]), END_OF_TIME).is_empty()


@pytest.mark.parametrize(
    ("size", "period", "across", "in_a_stretch"),
    [(60, 1, 60, 8), (3600, 1, 3600, 64), (10, 4, 5, 4), (3, 2, 3, 2)],
)
def test_a_stretch_has_about_as_many_slices_as_a_window_has_stretches(
    size, period, across, in_a_stretch
):
    slices = Slices(Sliding(size, period, 0))
    assert (slices.across, 2**slices.level) == (across, in_a_stretch)
