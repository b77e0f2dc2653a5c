"""Tables written as bytes read back the same, and another version is refused."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated, State
from millstream.engine.state.blobs import VERSION, packed, unpacked
from millstream.engine.state.shard import Bucket, Clocks
from millstream.model.windowing import checked_windowing

BATCH = pl.DataFrame(
    {
        "key": ["a", "ü"],
        "time": [1_000_000, 2_000_000],
        "sign": [1, 1],
        "of": [5, None],
        "by": [None, None],
    },
    schema_overrides={"by": pl.Int64},
)
TABLES = ("panes", "elements", "emitted")


def some_state():
    windowing = checked_windowing(
        ms.session(10), ms.repeatedly(ms.after_count(1)), ms.retracting, timestamp="earliest"
    )
    grouping = Grouping(windowing, ["key"], [Aggregated("all", ms.collect("x"), "of", "by")])
    state, _ = grouping.step(State(), BATCH, watermark=0, now=7)
    return state


@pytest.mark.parametrize("name", TABLES)
def test_a_table_reads_back_the_same(name):
    table = getattr(some_state(), name)
    assert unpacked(packed(table)).equals(table)
    assert unpacked(packed(table)).schema == table.schema


def test_the_same_table_is_the_same_bytes():
    assert packed(some_state().panes) == packed(some_state().panes)


def test_clocks_read_back_the_same():
    bucket = Bucket(
        ["panes"], rows=3, size=99, wakes=7, due=None, holds=6, parts={"": [(5, 2, 40)]}
    )
    clocks = Clocks(watermark=1, output_watermark=-5, now=9, buckets={"0:10": bucket})
    again = Clocks.from_json(clocks.to_json())
    assert again.to_json() == clocks.to_json()
    assert (again.watermark, again.buckets["0:10"].wakes) == (1, 7)


def test_another_version_is_refused():
    with pytest.raises(ValueError, match="format ff"):
        unpacked(b"\xff" + packed(BATCH)[1:])
    clocks = Clocks().to_json().replace(b'"version":%d' % VERSION, b'"version":99')
    with pytest.raises(ValueError, match="format 99"):
        Clocks.from_json(clocks)
