"""Points in time as users write them."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone

import pytest

from millstream.model.errors import PlanError
from millstream.model.instants import END_OF_TIME, START_OF_TIME, instant, seconds


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (0, 0),
        (1.000001, 1_000_001),
        (-1.5, -1_500_000),
        (datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC), 1_000_000),
        (datetime(1970, 1, 1, 2, tzinfo=timezone(timedelta(hours=2))), 0),
        (datetime(1969, 12, 31, 23, 59, 59, 999_999, tzinfo=UTC), -1),
        ("1970-01-01T01:00:00+01:00", 0),
        ("1970-01-01T00:00:00Z", 0),
    ],
)
def test_an_instant_is_microseconds_since_1970(written, expected):
    assert instant(written) == expected


@pytest.mark.parametrize(
    "written", ["yesterday", "", None, True, float("inf"), float("nan"), 10**30, [], "12:00"]
)
def test_what_is_no_instant_is_refused(written):
    with pytest.raises(PlanError, match="MS118"):
        instant(written)


@pytest.mark.parametrize("written", [1e12, -1e12, 253_402_300_800])
def test_times_outside_the_years_1_to_9999_are_refused(written):
    with pytest.raises(PlanError, match="MS118.*outside the years 1 to 9999"):
        instant(written)


def test_a_datetime_without_a_zone_names_no_instant():
    with pytest.raises(PlanError, match="MS118.*no time zone"):
        instant(datetime(2024, 1, 1))
    with pytest.raises(PlanError, match="MS118.*no time zone"):
        instant("2024-01-01T00:00:00")


def test_the_ends_of_time_are_infinite():
    assert seconds(END_OF_TIME) == float("inf")
    assert seconds(START_OF_TIME) == float("-inf")
