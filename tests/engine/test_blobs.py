"""State written as bytes reads back the same, and another version is refused."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.blobs import VERSION, clocks_of, packed, state_of, tables_of, unpacked
from millstream.engine.grouping import Grouping
from millstream.engine.tables import Aggregated, State
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


def some_state():
    windowing = checked_windowing(
        ms.session(10), ms.repeatedly(ms.after_count(1)), ms.retracting, timestamp="earliest"
    )
    grouping = Grouping(windowing, ["key"], [Aggregated("all", ms.collect("x"), "of", "by")])
    state, _ = grouping.step(State(), BATCH, watermark=0, now=7)
    return grouping, state


def test_a_state_reads_back_and_goes_on_the_same():
    grouping, state = some_state()
    blobs = {name: packed(table) for name, table in tables_of(state).items()}
    assert set(blobs) == {"panes", "elements", "emitted"}
    again = state_of(clocks_of(state), blobs)
    assert (again.watermark, again.output_watermark, again.now) == (0, 0, 7)
    for name in blobs:
        assert getattr(again, name).equals(getattr(state, name))
    goes_on = [grouping.step(each, BATCH, 5_000_000, 9)[1].panes[0] for each in (state, again)]
    assert goes_on[0].equals(goes_on[1])


def test_nothing_written_is_a_fresh_state():
    assert state_of(None, {}) == State()


def test_the_same_state_is_the_same_bytes():
    (_, one), (_, two) = some_state(), some_state()
    assert packed(one.panes) == packed(two.panes)


def test_another_version_is_refused():
    blob = packed(BATCH)
    with pytest.raises(ValueError, match="format ff"):
        unpacked(b"\xff" + blob[1:])
    clocks = clocks_of(State()).replace(f'"version": {VERSION}', '"version": 99')
    with pytest.raises(ValueError, match="format 99"):
        state_of(clocks, {})
