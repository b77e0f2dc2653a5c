"""Where the rows of one step are in a wide frame."""

from __future__ import annotations

import polars as pl

from millstream.engine.rows import SIGN, TIME
from millstream.spark.worker.step_columns import StepColumns

WIDE = pl.DataFrame({"c1": [1, 2, 3], "f": [True, False, None], "t": [5, None, 7], "g": [1, 1, -1]})


def read(columns):
    return columns.rows(WIDE).select("n", TIME, SIGN).rows()


def test_rows_are_where_the_flag_is_true():
    assert read(StepColumns({"n": "c1"}, flag="f", time="t")) == [(1, 5, 1)]


def test_rows_without_a_flag_are_where_there_is_a_time():
    assert read(StepColumns({"n": "c1"}, time="t", sign="g")) == [(1, 5, 1), (3, 7, -1)]


def test_rows_without_both_are_everywhere():
    assert read(StepColumns({"n": "c1"})) == [(1, None, 1), (2, None, 1), (3, None, 1)]


def test_a_step_without_columns_still_has_rows():
    assert StepColumns({}).rows(WIDE).height == 3
