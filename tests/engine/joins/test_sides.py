"""Rows of a side: those behind the closed time are late, the others are in order."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest

from millstream.engine.joins.sides import accepted, closed_at
from millstream.model.instants import END_OF_TIME, START_OF_TIME

ROWS = pl.DataFrame(
    {"time": [3, 1, 2], "origin": ["o"] * 3, "split": [""] * 3, "offset": [0, 1, 2]}
)


@pytest.mark.parametrize(
    ("watermark", "behind", "closed"),
    [(10, 4, 6), (START_OF_TIME, 4, START_OF_TIME), (END_OF_TIME, 4, END_OF_TIME)],
)
def test_the_closed_time_is_behind_the_watermark_but_at_the_ends_of_time(watermark, behind, closed):
    assert closed_at(watermark, behind) == closed


def test_rows_before_the_closed_time_are_late():
    outputs = defaultdict(list)
    rows = accepted(ROWS, "left", 2, outputs)
    assert rows is not None
    assert rows["time"].to_list() == [2, 3]
    (late,) = outputs["late"]
    assert late.select("time", "side").rows() == [(1, "left")]


def test_where_all_are_late_there_is_nothing():
    outputs = defaultdict(list)
    assert accepted(ROWS, "left", 9, outputs) is None
    assert accepted(None, "left", 9, outputs) is None
    assert outputs["late"][0].height == 3
