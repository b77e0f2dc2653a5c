"""What lies between a retracting grouping and whoever reads it must treat retractions alike."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError


def totals():
    scores = ms.from_rows(
        [("ann", 1, 1.0)], schema="user string, n int, at double", event_time="at"
    )
    grouped = scores.key_by("user").window(ms.fixed(10)).refine(ms.retracting)
    return grouped.aggregate(n=ms.sum("n")).named("totals")


def test_batches_of_retractions_are_refused():
    with pytest.raises(PlanError, match="MS110 in step 'map_batches-1': 'totals' takes") as caught:
        totals().map_batches(lambda rows: rows, schema="n bigint")
    assert "flat_map" in caught.value.fix


def test_a_sink_that_could_not_tell_what_is_taken_back_is_refused():
    with pytest.raises(PlanError, match="MS110 in step 'x'.*lost the column kind") as caught:
        totals().select("n").collect("x")
    assert "'kind'" in caught.value.fix
    assert totals().select("n", "kind").collect("x")


def test_a_filter_on_kind_before_another_grouping_is_refused():
    kept = totals().filter("kind = '+'").named("additions")
    with pytest.raises(PlanError, match="MS110.*'additions' reads kind"):
        kept.key_by("n").window(ms.fixed(10)).refine(ms.retracting).aggregate(m=ms.count())
    assert kept.collect()


@pytest.mark.parametrize("step", [{"delta": "if(kind = '-', -n, n)"}, {"sort": "kind"}])
def test_a_column_made_of_kind_before_another_grouping_is_refused(step):
    for made in (totals().with_columns(**step), totals().select("n", "window", **step)):
        with pytest.raises(PlanError, match="MS110.* makes different rows of a row and its retr"):
            made.union(made).window(ms.fixed(10)).refine(ms.retracting).aggregate(m=ms.count())
    assert totals().with_columns(**step).collect()


def test_another_column_called_kind_is_refused_where_rows_may_be_taken_back():
    for make in (ms.Stream.with_columns, ms.Stream.select):
        with pytest.raises(PlanError, match="MS110.*would be replaced by 'user'") as caught:
            make(totals(), Kind="user")
        assert "kind_2" in caught.value.fix
    assert totals().with_columns(kind="KIND").collect()
    taken_up = totals().refine(ms.accumulating).aggregate(n=ms.sum("n"))
    assert taken_up.with_columns(kind="'mine'").group().collect()


def test_a_kind_that_means_something_else_is_not_united_with_one_that_takes_back():
    mine = ms.from_rows([("ann", 1, "-")], schema="user string, n bigint, kind string")
    back = totals().select("user", "n", "kind")
    for parts in ((back, mine), (mine, back), (mine.filter("n > 1").union(mine), back)):
        with pytest.raises(PlanError, match="MS110.*has a column kind of its own") as caught:
            parts[0].union(*parts[1:])
    assert "kind_2='kind', kind=\"'+'\"" in caught.value.fix
    added = mine.with_columns(kind_2="kind", kind="'+'").select("user", "n", "kind")
    assert back.union(added.filter("n > 1"), back).collect()
    assert mine.union(mine).collect()
