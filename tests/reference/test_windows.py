"""Assigning and merging windows, against brute force and the calendar."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from itertools import pairwise
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model.windows import Interval, calendar, fixed, session, sliding
from millstream.reference.windows import windows_of

SECOND = 1_000_000
instants = st.integers(-(10**15), 10**15)


@given(st.integers(1, 10**12), st.integers(-(10**12), 10**12), instants)
def test_a_fixed_window_covers_its_element_and_starts_at_a_multiple(size, offset, time):
    (window,) = windows_of(
        fixed(timedelta(microseconds=size), timedelta(microseconds=offset))
    ).assign(time)
    assert window.start <= time < window.end == window.start + size
    assert (window.start - offset) % size == 0


@given(st.integers(1, 50), st.integers(1, 20), st.integers(-30, 30), st.integers(-200, 200))
def test_sliding_windows_are_all_those_that_cover_the_element(size, period, offset, time):
    found = windows_of(sliding(size, period, offset)).assign(time * SECOND)
    expected = [
        Interval(start * SECOND, (start + size) * SECOND)
        for start in range(time - size + 1, time + 1)
        if (start - offset) % period == 0
    ]
    assert found == expected


@pytest.mark.parametrize(
    ("touching", "expected"), [(False, [(0, 10), (10, 20)]), (True, [(0, 20)])]
)
def test_sessions_that_touch_merge_only_where_asked(touching, expected):
    merged = windows_of(session(10, touching)).merge([Interval(0, 10), Interval(10, 20)])
    assert [(w.start, w.end) for w in merged] == expected


@given(st.lists(st.tuples(st.integers(0, 60), st.integers(1, 20)), max_size=12))
def test_merged_windows_are_disjoint_and_cover_the_same_instants(spans):
    windows = [Interval(start, start + length) for start, length in spans]
    merged = list(windows_of(session(1)).merge(windows))
    covered = {t for w in windows for t in range(w.start, w.end)}
    assert {t for w in merged for t in range(w.start, w.end)} == covered
    assert all(a.end <= b.start for a, b in pairwise(merged))


ZONES = [
    "UTC",
    "Europe/Paris",
    "America/Sao_Paulo",
    "Pacific/Apia",
    "Asia/Kathmandu",
    "Africa/Cairo",
]
EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


@given(
    st.sampled_from(["day", "week", "month", "year"]),
    st.sampled_from(ZONES),
    st.datetimes(datetime(1990, 1, 1), datetime(2037, 12, 31)),
)
def test_calendar_windows_cover_their_element_and_follow_each_other(unit, zone, moment):
    time = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    kind = calendar(unit, zone)
    (window,) = windows_of(kind).assign(time)
    assert window.start <= time < window.end
    assert (
        windows_of(kind).assign(window.start) == windows_of(kind).assign(window.end - 1) == [window]
    )
    (following,) = windows_of(kind).assign(window.end)
    assert following.start == window.end


@pytest.mark.parametrize(
    ("zone", "around"),
    [
        ("America/St_Johns", "2006-10-29T02:31:00+00:00"),  # back over midnight, 00:01 to 23:01
        ("America/Toronto", "1919-03-31T04:30:00+00:00"),  # forward over midnight, 23:30 to 00:30
        ("America/Havana", "2024-11-03T05:00:00+00:00"),  # midnight comes twice
        ("America/Sao_Paulo", "2018-11-04T03:00:00+00:00"),  # midnight does not come
        ("Pacific/Apia", "2011-12-30T10:00:00+00:00"),  # a day does not come
    ],
)
@pytest.mark.parametrize("unit", ["day", "week", "month", "year"])
def test_calendar_windows_divide_time_where_clocks_change_about_midnight(zone, around, unit):
    change = (datetime.fromisoformat(around) - EPOCH) // timedelta(microseconds=1)
    windows = []
    for minutes in range(-180, 181):
        time = change + minutes * 60 * SECOND
        (window,) = windows_of(calendar(unit, zone)).assign(time)
        assert window.start <= time < window.end
        windows.append(window)
    distinct = sorted(set(windows))
    assert all(a.end == b.start for a, b in pairwise(distinct))
    assert windows == sorted(windows)


@pytest.mark.parametrize("unit", ["day", "week", "month", "year"])
@pytest.mark.parametrize("zone", ["UTC", "Pacific/Kiritimati", "Pacific/Pago_Pago"])
@pytest.mark.parametrize("moment", [datetime.min, datetime.max])
def test_calendar_windows_reach_to_the_ends_of_the_calendar(unit, zone, moment):
    time = (moment.replace(tzinfo=UTC) - EPOCH) // timedelta(microseconds=1)
    (window,) = windows_of(calendar(unit, zone)).assign(time)
    assert window.start <= time < window.end


@pytest.mark.parametrize(
    ("zone", "day", "hours"),
    [
        ("Europe/Paris", "2024-03-31", 23),
        ("Europe/Paris", "2024-10-27", 25),
        ("Europe/Paris", "2024-06-01", 24),
        ("America/Sao_Paulo", "2018-11-04", 23),  # midnight itself was skipped
        ("Australia/Lord_Howe", "2024-04-07", 24.5),  # half an hour
    ],
)
def test_days_are_as_long_as_daylight_saving_makes_them(zone, day, hours):
    noon = datetime.fromisoformat(day).replace(hour=12, tzinfo=ZoneInfo(zone))
    (window,) = windows_of(calendar("day", zone)).assign(
        (noon - EPOCH) // timedelta(microseconds=1)
    )
    assert (window.end - window.start) / (3600 * SECOND) == hours
