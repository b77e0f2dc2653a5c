"""What arrives at a shard: cut into lanes if it is large, and joined with its bucket again."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl

from millstream.engine.state import arrivals
from millstream.engine.state.arrivals import LANES, Arrival, Opened, cut, joined, opened
from millstream.engine.state.blobs import packed, unpacked

ROWS = pl.DataFrame({"key": range(200), "n": range(200)})


def test_a_large_table_is_cut_into_lanes_by_key():
    with patch.object(arrivals, "MANY_ROWS", 100):
        parts = list(cut(pl.concat([ROWS, ROWS]), ["key"], (0, 10)))
    assert 1 < len(parts) <= LANES
    assert sum(part.rows for part in parts) == 400
    keys = [set(unpacked(part.blob)["key"]) for part in parts]
    assert sum(map(len, keys)) == 200
    assert len({part.lane for part in parts}) == len(parts)


def test_a_small_table_stays_one():
    (part,) = cut(ROWS, ["key"], (0, 10))
    assert (part.rows, part.bucket, part.lane) == (200, (0, 10), None)


def test_rows_get_the_bucket_that_their_arrival_names():
    for count in (2, 20):  # few are joined in another way than many
        given = [Opened(ROWS.head(2), (n, n + 10), arrived=n) for n in range(count)]
        (table,) = joined(given, ["start", "end"])
        expected = [(n, n + 10, n) for n in range(count) for _ in range(2)]
        assert table.select("start", "end", "arrived").rows() == expected


def test_rows_of_other_columns_are_in_a_table_of_their_own():
    given = [Opened(ROWS), Opened(ROWS.with_columns(new=pl.lit(1)))]
    assert [table.height for table in joined(given, ["bucket"])] == [200, 200]


def test_an_arrival_is_opened_once():
    made = opened(Arrival(packed(ROWS), 200, (3,), port="left"))
    assert made.rows.equals(ROWS)
    assert (made.bucket, made.port) == ((3,), "left")
    assert opened(made) is made
