"""Rows in columns as the rows that users get."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta

import polars as pl
import pyarrow as pa
import pytest

from millstream.engine.python_rows import python_columns, python_rows, row_maker


def test_maps_are_dicts_and_instants_are_in_utc_wherever_they_are():
    at = datetime(2024, 5, 1, tzinfo=UTC)
    zoned = pa.timestamp("us", "Europe/Paris")
    table = pa.table(
        {
            "map": pa.array([[("a", 1)]], pa.map_(pa.string(), pa.int64())),
            "in": pa.array([[{"at": at}]], pa.list_(pa.struct([("at", zoned)]))),
        }
    )
    (row,) = python_rows(table)
    assert row == {"map": {"a": 1}, "in": [{"at": at}]}
    assert row["in"][0]["at"].tzinfo is UTC


@pytest.mark.parametrize("zone", [None, "UTC"])
def test_timestamps_are_those_that_arrow_gives(zone):
    first, last = datetime(1, 1, 1), datetime(9999, 12, 31, 23, 59, 59, 999_999)
    moments = [first, datetime(1969, 12, 31, 23, 59, 59, 1), datetime(2024, 5, 1), last, None]
    column = pl.Series("at", moments, pl.Datetime("us")).dt.replace_time_zone(zone)
    (found,) = python_columns(column.to_frame())
    assert found == [row["at"] for row in python_rows(column.to_frame().to_arrow())]
    assert all(each is None or each.tzinfo is (zone and UTC) for each in found)


def test_a_timestamp_beyond_the_year_9999_is_the_error_that_arrow_gives():
    beyond = (datetime(9999, 12, 31) - datetime(1970, 1, 1) + timedelta(days=1)) // timedelta(
        0, 0, 1
    )
    table = pl.DataFrame({"at": pl.Series([beyond]).cast(pl.Datetime("us"))})
    with pytest.raises((ValueError, OverflowError)):
        python_columns(table)


def test_rows_have_names_of_any_kind_in_their_order():
    names = ["it's", "a\nb", "class", "größe"]
    (row,) = row_maker(names, dict)([1], [2], [3], [4])
    assert row == dict(zip(names, [1, 2, 3, 4], strict=True))
