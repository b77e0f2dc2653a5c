"""Rows in columns: their times, and what is known of each."""

from __future__ import annotations

from datetime import UTC, datetime

import polars as pl
import pyarrow as pa
import pytest

from millstream.engine.rows import SIGN, TIME, from_python, micros_of, timed, to_python, with_time


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


def test_rows_without_a_time_are_told_apart_with_the_reason():
    good, bad = timed(with_time(pl.DataFrame({"at": [3, None]})), "times", "at")
    assert good[TIME].to_list() == [3_000_000]
    assert bad["reason"].to_list() == ["event time 'at': it is null"]
    assert bad["step"].to_list() == ["times"]


def test_rows_come_back_from_python_as_they_went():
    rows = pl.DataFrame({"n": [1, 2], TIME: [5, None], SIGN: [1, -1]}).cast({SIGN: pl.Int8})
    back = from_python(to_python(rows), pa.schema([("n", pa.int64())]))
    assert back.equals(rows)
