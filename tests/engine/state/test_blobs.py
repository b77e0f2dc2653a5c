"""Tables written as bytes read back the same, and another version is refused."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import ROWS, Advance
from millstream.engine.state.blobs import VERSION, packed, unpacked
from millstream.engine.state.document import Bucket, Clocks, Document, Lane, Part
from millstream.model.instants import START_OF_TIME
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


def some_tables():
    windowing = checked_windowing(
        ms.session(10), ms.repeatedly(ms.after_count(1)), ms.retracting, timestamp="earliest"
    )
    grouping = Grouping(windowing, ["key"], [Aggregated("all", ms.collect("x"), "of", "by")])
    return grouping.step({}, {ROWS: BATCH}, Advance(START_OF_TIME, 0, 0, 7)).tables


@pytest.mark.parametrize("name", TABLES)
def test_a_table_reads_back_the_same(name):
    table = some_tables()[name]
    assert unpacked(packed(table)).equals(table)
    assert unpacked(packed(table)).schema == table.schema


def test_the_same_table_is_the_same_bytes():
    assert packed(some_tables()["panes"]) == packed(some_tables()["panes"])


def test_a_document_reads_back_the_same():
    lane = Lane("rows", 3, [Part(5, 2, 40)])
    bucket = Bucket((0, 10), ["panes"], 3, 99, wakes=7, due=None, holds=6, lanes=[lane])
    clocks = Clocks(watermark=1, output_watermark=-5, now=9, buckets=[bucket])
    document = Document(timer=12, operators={"ü/#+:": clocks})
    assert Document.from_json(document.to_json()) == document


def test_another_version_is_refused():
    with pytest.raises(ValueError, match="format ff"):
        unpacked(b"\xff" + packed(BATCH)[1:])
    text = Document().to_json().replace(b'"version":%d' % VERSION, b'"version":99')
    with pytest.raises(ValueError, match="format 99"):
        Document.from_json(text)
