"""Running a program to its end, and what the job then reports."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError


def numbers():
    return ms.from_rows([(1,), (2,), (3,)], schema="n int", name="numbers")


def test_a_job_reports_how_many_rows_each_sink_got():
    source = numbers()
    big, odd = source.filter("n > 2"), source.filter("n % 2 = 1")
    job = ms.pipeline(big.collect("big"), odd.collect("odd")).run("sizes")
    assert (
        repr(job) == "<Job 'sizes': finished; 1 row in 'big', 2 rows in 'odd'; 0 late, 0 rejected>"
    )
    assert job.rows("odd") == [{"n": 1}, {"n": 3}]


def test_rows_of_an_unknown_sink_are_an_error_with_the_known_ones():
    source = numbers()
    job = ms.pipeline(source.collect("a"), source.collect("b")).run("j")
    with pytest.raises(PlanError, match=r"MS113.*several sinks") as caught:
        job.rows()
    assert "rows('a') or rows('b')" in caught.value.fix
    with pytest.raises(PlanError, match=r"MS113.*no sink 'c'"):
        job.rows("c")


def test_an_empty_source_gives_empty_results():
    empty = ms.from_rows([], schema="n int, at double", event_time="at")
    job = empty.window(ms.fixed(10)).aggregate(n=ms.count()).collect().run()
    assert job.rows() == []


def test_what_users_do_to_rows_does_not_change_the_program():
    lists = ms.from_rows([{"a": [1, 2]}], schema="a array<int>")

    def change(row):
        row["a"].append(9)
        return row

    lists.map(change, schema="a array<int>").collect().run()
    lists.collect().run().rows()[0]["a"].append(7)
    assert lists.collect().run().rows() == [{"a": [1, 2]}]


def test_settings_without_their_grouping_are_errors_at_the_sink():
    with pytest.raises(PlanError, match=r"MS117.*key n.*") as caught:
        numbers().key_by("n").collect()
    assert ".aggregate(…)" in caught.value.fix


def test_panes_of_a_pipeline_with_two_groupings_run_in_one_job():
    rows = [("a", 1, 1.0), ("a", 2, 12.0), ("b", 5, 13.0)]
    scores = ms.from_rows(rows, schema="key string, n int, at double", event_time="at")
    per_key = scores.key_by("key").window(ms.fixed(10)).aggregate(n=ms.sum("n"))
    best = per_key.window(ms.fixed(20)).aggregate(top=ms.top(1, by="n", of="key"))
    job = ms.pipeline(per_key.collect("per key"), best.collect("best")).run()
    assert [row["top"] for row in job.rows("best")] == [["b"]]
    assert sorted(row["n"] for row in job.rows("per key")) == [1, 2, 5]


@pytest.mark.parametrize("every", ["5 parsecs", "", -1, 0, "0s", True, [], b"5s", float("nan")])
def test_a_job_begins_batches_at_a_length_of_time(every):
    with pytest.raises(PlanError, match="MS101: every ") as caught:
        numbers().collect().run(every=every)
    assert "text such as '90s'" in caught.value.fix


@pytest.mark.parametrize(
    ("wrong", "what", "fix"),
    [
        ({"mode": "stream"}, "mode='stream' is not a choice", "did you mean 'streaming'?"),
        ({"mode": 5}, "mode=5 is not a choice", "use one of: streaming, batch"),
        ({"checkpoint": 5}, "5 is no path", "give a folder"),
        ({"checkpoint": ""}, "'' is no path", "give a folder"),
        ({"on_batch": 5}, "on_batch=5 is no function", "give a function of the job's progress"),
        ({"spark": "local[2]"}, "spark='local[2]' is no session of Spark", "give a SparkSession"),
    ],
)
def test_arguments_of_a_run_are_errors_before_anything_is_started(wrong, what, fix):
    with pytest.raises(PlanError, match="MS113") as caught:
        numbers().collect().run(**wrong)
    assert caught.value.what == what
    assert fix in caught.value.fix


def test_progress_has_the_steps_of_the_program():
    rows = [("a", 1), ("b", 2), ("a", 3)]
    numbers = ms.from_rows(rows, schema="key string, n int", name="numbers")
    doubled = numbers.map(lambda row: {**row, "n": 2 * row["n"]}, schema="key string, n int")
    totals = doubled.filter("n > 2").key_by("key").aggregate(n=ms.sum("n")).named("totals")
    steps = totals.collect("totals").run("steps").progress().steps
    assert [(each.id, each.kind, each.rows_in, each.rows_out) for each in steps] == [
        ("numbers", "rows", 3, 3),
        ("map-1", "map", 3, 3),
        ("filter-1", "filter", None, None),
        ("totals", "aggregate", 2, 2),
        ("sink:totals", "collect", 2, None),
    ]


def test_a_function_gets_the_progress_after_each_batch():
    got = []
    numbers().collect("all").run(on_batch=got.append)
    assert [(each.batches, each.rows, each.written) for each in got] == [(1, 3, {"all": 3})]
