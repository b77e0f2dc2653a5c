"""A wide frame holds the rows of several steps side by side."""

from __future__ import annotations

import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

import millstream as ms
from millstream.spark.lower.wide_frame import WideFrame, has_row
from millstream.spark.worker.step_columns import StepColumns
from programs import instance_of, lowering_of

ROWS = ms.from_rows([], "kind string, n int", name="rows")
PLAN = lowering_of(ROWS.filter("n > 1").named("big").union(ROWS).collect("all"))
SOURCE, BIG = instance_of(PLAN, "rows"), instance_of(PLAN, "big")


@pytest.fixture
def wide(spark):
    """Two steps: all rows, and those with a flag. One column has the name of a user's."""
    rows = [("x", 1, False, "e"), ("y", 5, True, "e"), ("z", 9, True, None)]
    frame = spark.createDataFrame(rows, "c1 string, c2 int, f boolean, kind string").coalesce(1)
    columns = {"kind": "c1", "n": "c2"}
    steps = {SOURCE: StepColumns(columns), BIG: StepColumns(columns, flag="f")}
    return WideFrame(frame, steps, ["kind"])


def test_new_columns_are_computed_of_the_steps_own_names_where_it_has_rows(wide):
    wide.add(wide.steps[BIG], {"c3": F.expr("concat(kind, 1 / (n - 1))")})
    found = [(row.c3, row.kind) for row in wide.frame.collect()]
    assert found == [(None, "e"), ("y0.25", "e"), ("z0.125", None)], "1 / 0 is not computed"
    assert wide.frame.columns == ["c1", "c2", "f", "kind", "c3"]


def test_types_are_those_of_a_steps_columns_by_its_own_names(wide):
    assert wide.types(BIG).simpleString() == "struct<kind:string,n:int>"


def test_rows_and_columns_that_no_step_needs_are_dropped(wide):
    wide.keep([BIG])
    assert wide.frame.columns == ["c1", "c2", "f", "kind"]
    assert [row.c1 for row in wide.frame.collect()] == ["x", "y", "z"], "the first is an envelope"
    wide.carried = []
    wide.keep([BIG])
    assert [row.c1 for row in wide.frame.collect()] == ["y", "z"]


def test_rows_of_a_step_that_has_them_everywhere_all_stay(wide):
    wide.carried = []
    wide.keep([SOURCE, BIG])
    assert wide.frame.count() == 3


def test_rows_are_counted_though_no_column_is_read(wide):
    wide.carried = []
    wide.keep([])
    assert (wide.frame.count(), len(wide.frame.columns)) == (3, 1)


def test_a_step_has_rows_by_its_flag_else_by_its_time_else_everywhere(spark):
    assert has_row(StepColumns({})) is None
    flag, time = has_row(StepColumns({}, flag="f", time="t")), has_row(StepColumns({}, time="t"))
    frame = spark.createDataFrame([(False, 1), (True, None)], "f boolean, t bigint").coalesce(1)
    assert [tuple(row) for row in frame.select(flag, time).collect()] == [
        (False, True),
        (True, False),
    ]
