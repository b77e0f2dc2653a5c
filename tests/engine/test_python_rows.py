"""Rows in columns as the rows that users get."""

from __future__ import annotations

from datetime import UTC, datetime

import pyarrow as pa

from millstream.engine.python_rows import python_rows


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
