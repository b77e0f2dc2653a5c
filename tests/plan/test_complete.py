"""Which programs may keep the whole result table, and what its rows are replaced by."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError

ROWS = [("ann", "red", 1, 1.0), ("bob", "blue", 2, 2.0), ("ann", "red", 4, 61.0)]
SCORES = ms.from_rows(
    ROWS, schema="user string, team string, points int, at double", event_time="at"
)
BY_TEAM = SCORES.key_by("team")
EACH = ms.repeatedly(ms.after_count(1))


def table_of(pipeline):
    (sink,) = pipeline.outputs
    return sink.target.table


def test_rows_are_replaced_by_key_and_window():
    totals = BY_TEAM.window(ms.fixed("1m")).trigger(EACH).refine(ms.accumulating)
    table = table_of(totals.aggregate(n=ms.count()).collect(mode="complete"))
    assert (table.by, table.kind) == (("team", "window"), None)


def test_without_windows_they_are_replaced_by_key_and_retractions_take_them_back():
    totals = BY_TEAM.trigger(EACH).refine(ms.retracting).aggregate(n=ms.count())
    for sink in (
        totals.collect(mode="complete"),
        totals.write_console(mode="complete"),
        totals.write_each(lambda rows, batch, slice: None, mode="complete"),
    ):
        assert (table_of(sink).by, table_of(sink).kind) == (("team",), "kind")


def test_a_window_that_fires_once_gives_its_whole_result_at_once():
    once = BY_TEAM.window(ms.session("10s")).aggregate(n=ms.count())
    assert table_of(once.collect(mode="complete")).by == ("team", "window")


def test_columns_may_be_chosen_as_long_as_keys_and_windows_are_kept():
    totals = BY_TEAM.window(ms.fixed("1m")).aggregate(n=ms.count())
    chosen = totals.select("window", "team", "n * 2 AS twice").with_columns(half="twice / 4")
    assert table_of(chosen.collect(mode="complete")).by == ("team", "window")
    for lost in (totals.drop("window"), totals.select("upper(team) AS team", "window", "n")):
        with pytest.raises(PlanError, match="MS113.*does not keep '(window|team)' as it is"):
            lost.collect(mode="complete")


def test_rows_that_do_not_replace_one_another_are_refused_with_what_to_write():
    late = BY_TEAM.window(ms.fixed("1m"), allowed_lateness="1m").aggregate(n=ms.count())
    with pytest.raises(PlanError, match="MS113 in step 'all'.*discarding") as caught:
        late.collect("all", mode="complete")
    assert ".refine(ms.accumulating)" in caught.value.fix
    sessions = BY_TEAM.window(ms.session("1m"), allowed_lateness="1m").refine(ms.accumulating)
    with pytest.raises(PlanError, match="MS113.*grow") as caught:
        sessions.aggregate(n=ms.count()).collect(mode="complete")
    assert ".refine(ms.retracting)" in caught.value.fix


def test_rows_of_no_grouping_are_refused():
    totals = BY_TEAM.window(ms.fixed("1m")).aggregate(n=ms.count())
    for stream in (SCORES, totals.filter("n > 1"), totals.late):
        with pytest.raises(PlanError, match="MS113.*the result of a grouping"):
            stream.collect(mode="complete")


def test_an_unknown_mode_is_refused():
    with pytest.raises(PlanError, match="MS113.*mode='update'"):
        SCORES.collect(mode="update")


def test_a_program_in_this_process_keeps_the_newest_result_of_each_key():
    totals = BY_TEAM.trigger(EACH).refine(ms.accumulating).aggregate(total=ms.sum("points"))
    every = totals.collect().run()
    whole = totals.collect(mode="complete").run()
    assert len(every.rows()) == 2  # a bundle of rows fires once
    assert {row["team"]: row["total"] for row in whole.rows()} == {"red": 5, "blue": 2}


def test_a_plan_says_that_a_sink_keeps_the_table(capsys):
    totals = BY_TEAM.window(ms.fixed("1m")).aggregate(n=ms.count())
    totals.collect("all", mode="complete").explain()
    assert capsys.readouterr().out.splitlines()[:2] == [
        "collect 'all'",
        "│    table  the whole result, a row for each team, window",
    ]
