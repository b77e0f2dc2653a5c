"""Lengths of time as users write them."""

from __future__ import annotations

from datetime import timedelta

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model.durations import format_duration, microseconds, not_negative, positive
from millstream.model.errors import PlanError


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (90, 90_000_000),
        (0.5, 500_000),
        (timedelta(hours=1, microseconds=1), 3_600_000_001),
        ("90s", 90_000_000),
        ("1h30m", 5_400_000_000),
        ("1h 30m", 5_400_000_000),
        ("500ms", 500_000),
        ("7us", 7),
        ("7µs", 7),
        ("1.5s", 1_500_000),
        ("2d", 172_800_000_000),
        ("1w", 604_800_000_000),
        ("-5s", -5_000_000),
        (0, 0),
        (timedelta(days=10**8), 86_400 * 10**14),
    ],
)
def test_a_duration_is_a_number_of_microseconds(written, expected):
    assert microseconds(written) == expected


@pytest.mark.parametrize(
    "written", ["", "  ", "5", "5 parsecs", "s", "1h-5m", "1..5s", float("nan"), float("inf"), True]
)
def test_what_is_no_duration_is_refused_with_what_to_write(written):
    with pytest.raises(PlanError, match="MS101") as caught:
        microseconds(written)
    assert repr(written) in caught.value.what
    assert "'1h30m'" in caught.value.fix


@pytest.mark.parametrize("written", [None, [], object(), b"5s", 1j])
def test_other_types_are_refused(written):
    with pytest.raises(PlanError, match="MS101"):
        microseconds(written)


@pytest.mark.parametrize("written", [0, -1, "0s", "-5s", timedelta(0)])
def test_a_size_must_be_longer_than_zero(written):
    with pytest.raises(PlanError, match="MS101: size must be longer than zero"):
        positive(written, what="size")


def test_lateness_may_be_zero_but_not_negative():
    assert not_negative(0, what="allowed_lateness") == 0
    with pytest.raises(PlanError, match="MS101: allowed_lateness must not be negative"):
        not_negative("-1s", what="allowed_lateness")


def test_a_duration_beyond_all_time_is_refused():
    with pytest.raises(PlanError, match="MS101.*longer than time itself"):
        microseconds("99999999999999w")
    with pytest.raises(PlanError, match="MS101.*longer than time itself"):
        microseconds(timedelta.max)


@given(st.integers(-(10**18), 10**18))
def test_a_formatted_duration_reads_back_the_same(us):
    assert microseconds(format_duration(us)) == us


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("1 hour", "1h"),
        ("1 Hour, 30 minutes", "1h30m"),
        ("5 mins and 1 sec", "5m1s"),
        ("1H", "1h"),
        ("-2 days", "-2d"),
        ("100 millis", "100ms"),
        ("5", "5s"),
    ],
)
def test_units_in_words_get_a_suggestion(written, meant):
    with pytest.raises(PlanError, match="MS101") as caught:
        microseconds(written)
    assert caught.value.fix.startswith(f"did you mean {meant!r}? Write a number of seconds")
    assert microseconds(meant)


@pytest.mark.parametrize("written", ["1 month", "a while", "hour", "", "1..5 hours"])
def test_what_means_no_duration_gets_none(written):
    with pytest.raises(PlanError, match="MS101") as caught:
        microseconds(written)
    assert caught.value.fix.startswith("write a number of seconds")
