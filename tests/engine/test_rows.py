"""Rows in columns: their times, and what is known of each."""

from __future__ import annotations

from datetime import UTC, datetime
from typing import get_args

import polars as pl
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.rows import SIGN, TIME, from_python, micros_of, timed, to_python, with_time
from millstream.model.errors import PlanError
from millstream.model.time_units import TimeUnit
from millstream.reference.rows import event_time


@pytest.mark.parametrize(
    ("values", "micros"),
    [
        (pl.Series([1, None, 10**15]), [1_000_000, None, None]),
        (pl.Series([1.5, float("nan"), float("inf")]), [1_500_000, None, None]),
        (pl.Series([datetime(1970, 1, 1, 0, 0, 2, tzinfo=UTC)]), [2_000_000]),
    ],
)
def test_an_instant_is_in_microseconds_or_null(values, micros):
    assert micros_of(values).to_list() == micros


NUMBERS = {
    pl.Int64: st.integers(-(2**63), 2**63 - 1) | st.integers(-10_000, 10_000),
    pl.Int32: st.integers(-(2**31), 2**31 - 1),
    pl.Float64: st.floats() | st.floats(-1e13, 1e13) | st.integers(-9, 9).map(lambda n: n / 2),
    pl.Decimal(18, 3): st.decimals(-(10**12), 10**12, places=3, allow_nan=False),
}


@given(
    st.sampled_from(get_args(TimeUnit)),
    st.sampled_from(list(NUMBERS)).flatmap(
        lambda kind: st.tuples(st.just(kind), st.lists(NUMBERS[kind] | st.none(), max_size=5))
    ),
)
def test_numbers_of_all_units_are_the_instants_of_the_reference(unit, numbers):
    kind, values = numbers
    assert micros_of(pl.Series(values, dtype=kind), unit).to_list() == [
        reference_instant(value, unit) for value in values
    ]


def reference_instant(value, unit):
    try:
        return event_time(value, unit)
    except (ValueError, ArithmeticError, PlanError):
        return None


@pytest.mark.parametrize(
    ("unit", "number", "micros"),
    [
        ("s", 1_700_000_000, 1_700_000_000_000_000),
        ("ms", 1_700_000_000_123, 1_700_000_000_123_000),
        ("us", 1_700_000_000_123_456, 1_700_000_000_123_456),
        ("ns", 1_700_000_000_123_456_789, 1_700_000_000_123_456),
        ("ns", -1, -1),
        ("ns", -(2**63), -(2**63) // 1000),
        ("ms", 253_402_300_799_999, 253_402_300_799_999_000),
        ("ms", 253_402_300_800_000, None),
        ("us", 2**63 - 1, None),
    ],
)
def test_a_number_of_a_unit_is_so_many_microseconds(unit, number, micros):
    assert micros_of(pl.Series([number]), unit).to_list() == [micros]
    assert reference_instant(number, unit) == micros


@pytest.mark.parametrize(
    ("unit", "number", "why"),
    [
        ("s", 1_700_000_000_000, ", and looks like milliseconds: write unit='ms'"),
        ("s", 1.7e18, ", and looks like nanoseconds: write unit='ns'"),
        ("ms", 1_700_000_000_000_000, ", and looks like microseconds: write unit='us'"),
        ("us", 1_700_000_000_000_000_000, ", and looks like nanoseconds: write unit='ns'"),
        ("us", 9 * 10**18, ""),
    ],
)
def test_a_number_that_cannot_be_right_is_rejected_with_the_unit_that_it_looks_like(
    unit, number, why
):
    _, bad = timed(with_time(pl.DataFrame({"ts": [number]})), "times", "ts", unit)
    expected = f"event time 'ts': it is outside the years 1 to 9999{why}"
    assert bad["reason"].to_list() == [expected]


def test_rows_without_a_time_are_told_apart_with_the_reason():
    good, bad = timed(with_time(pl.DataFrame({"at": [3, None]})), "times", "at")
    assert good[TIME].to_list() == [3_000_000]
    assert bad["reason"].to_list() == ["event time 'at': it is null"]
    assert bad["step"].to_list() == ["times"]


def test_rows_come_back_from_python_as_they_went():
    rows = pl.DataFrame({"n": [1, 2], TIME: [5, None], SIGN: [1, -1]}).cast({SIGN: pl.Int8})
    back = from_python(to_python(rows), pa.schema([("n", pa.int64())]))
    assert back.equals(rows)
