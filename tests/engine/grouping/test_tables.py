"""The state of a grouping is its tables."""

from __future__ import annotations

import polars as pl

from millstream.engine.grouping.tables import State


def test_a_state_is_made_of_tables_and_gives_those_that_there_are():
    tables = {"panes": pl.DataFrame({"n": [1]}), "emitted": pl.DataFrame({"n": [2]})}
    state = State.of(tables, watermark=5, now=7)
    assert (state.watermark, state.now, state.elements) == (5, 7, None)
    assert state.tables == tables
    assert State().tables == {}
