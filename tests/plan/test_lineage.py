"""What lies behind a step: where its rows come from, and whether they may be taken back."""

from __future__ import annotations

import millstream as ms
from millstream.plan.lineage import kind_column, taking_back

ROWS = ms.from_rows([], schema="k string, kind string, n int")
TOTALS = ROWS.key_by("k").refine(ms.retracting).aggregate(n=ms.sum("n"))
BEST = TOTALS.refine(ms.accumulating).aggregate(n=ms.max("n"))


def test_rows_may_be_taken_back_by_the_nearest_grouping_only() -> None:
    assert taking_back(ROWS.node) is None
    assert taking_back(TOTALS.filter("n > 1").node) is TOTALS.node
    assert taking_back(BEST.node) is None
    assert taking_back(BEST.select("n").union(TOTALS.select("n")).node) is TOTALS.node


def test_late_rows_are_taken_back_where_the_input_of_their_grouping_is() -> None:
    assert taking_back(TOTALS.late.node) is None
    late = TOTALS.drop("window", "pane").refine(ms.accumulating).aggregate(n=ms.max("n")).late
    assert taking_back(late.node) is TOTALS.node
    assert kind_column(late.node) == "kind"
    assert taking_back(late.rejected.node) is None


def test_a_column_kind_of_rows_that_are_never_taken_back_says_nothing_of_retractions() -> None:
    assert kind_column(ROWS.node) is None
    assert kind_column(TOTALS.node) == "kind"
    assert kind_column(TOTALS.drop("kind").node) is None
    assert kind_column(BEST.with_columns(kind="'mine'").node) is None
