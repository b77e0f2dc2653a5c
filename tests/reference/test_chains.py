"""Groupings over groupings: panes, retractions and watermarks that travel on."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.model.errors import RunError
from millstream.plan.nodes import walk
from millstream.reference.interpreter import Interpreter
from millstream.reference.ordering import ordering
from millstream.testing import Elements, ProcessingTime, Watermark, replay, test_stream
from scripts import safe_triggers, steps, windows

SCHEMA = "key string, value int, at double"


def as_rows(script):
    return [
        Elements({"key": k, "value": v, "at": float(t)} for k, v, t in step.items)
        if isinstance(step, Elements)
        else step
        for step in script
    ]


def standing(panes):
    """What is left of panes when retractions have taken back theirs."""
    left = Counter()
    for pane in panes:
        left[pane.key, pane.window, ordering(pane.values)] += 1 if pane.kind == "+" else -1
    return {where for where, n in left.items() if n}


def two_stages(source, window, trigger, refine=ms.retracting):
    """How many keys have which total: a refined total moves its key to another group."""
    totals = (
        source.key_by("key")
        .window(window, allowed_lateness="100d")
        .trigger(trigger or ms.repeatedly(ms.at_watermark()))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"))
    )
    return (
        totals.key_by("total")
        .window(ms.fixed(10), allowed_lateness="100d")
        .trigger(trigger or ms.repeatedly(ms.at_watermark()))
        .refine(refine)
        .aggregate(n=ms.count(), keys=ms.collect_set("key"))
    )


@settings(max_examples=100)
@given(windows(("fixed", "sliding", "session")), safe_triggers(), steps())
def test_a_chain_of_retracting_groupings_cancels_to_the_batch_result(window, trigger, script):
    rows = [row for step in as_rows(script) if isinstance(step, Elements) for row in step.items]
    streamed = replay(
        two_stages(test_stream(SCHEMA, event_time="at"), window, trigger), steps=as_rows(script)
    )
    batch = replay(
        two_stages(test_stream(SCHEMA, event_time="at"), window, None),
        steps=[Elements(rows), Watermark.end()],
    )
    assert all(late.reason == "no window" for late in streamed.late)
    assert standing(streamed) == standing(batch)


def test_a_refined_result_leaves_the_group_that_it_was_in():
    panes = replay(
        two_stages(
            test_stream(SCHEMA, event_time="at"),
            ms.fixed(10),
            ms.repeatedly(ms.after_count(1)),
        ),
        steps=as_rows([Elements([("a", 5, 1)]), Elements([("a", 4, 2)])]),
    )
    assert [(p.step, p.kind, p.key, p.values) for p in panes] == [
        (0, "+", 5, {"n": 1, "keys": ["a"]}),
        (1, "-", 5, {"n": 1, "keys": ["a"]}),
        (1, "+", 9, {"n": 1, "keys": ["a"]}),
    ]


def test_an_accumulating_grouping_over_retractions_repeats_what_is_left():
    panes = replay(
        two_stages(
            test_stream(SCHEMA, event_time="at"),
            ms.fixed(10),
            ms.repeatedly(ms.after_count(1)),
            refine=ms.accumulating,
        ),
        steps=as_rows([Elements([("a", 5, 1)]), Elements([("a", 4, 2)])]),
    )
    assert [(p.key, p.values["n"]) for p in panes] == [(5, 1), (5, 0), (9, 1)]


def test_a_discarding_sum_over_retractions_emits_the_difference():
    totals = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10), allowed_lateness="1d")
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.max("value"))
    )
    overall = (
        totals.window(ms.fixed(10), allowed_lateness="1d")
        .trigger(ms.repeatedly(ms.after_count(1)))
        .aggregate(sum=ms.sum("total"))
    )
    script = [Elements([("a", 5, 1)]), Elements([("b", 2, 2)]), Elements([("a", 9, 3)])]
    panes = replay(overall, steps=as_rows(script))
    assert [pane.value for pane in panes] == [5, 2, 4]


def test_a_downstream_grouping_gets_the_panes_before_the_watermark_that_made_them():
    first = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10))
        .aggregate(n=ms.count())
    )
    second = first.window(ms.fixed(20)).aggregate(n=ms.sum("n"))
    script = [Elements([("a", 1, 1), ("b", 1, 2), ("a", 1, 12)]), Watermark(10), Watermark(20)]
    panes = replay(second, steps=as_rows(script))
    assert [(p.step, p.window, p.value, p.timing) for p in panes] == [
        (2, (0.0, 20.0), 3, "ON_TIME")
    ]
    assert not panes.late


def test_panes_stamped_with_their_earliest_element_hold_the_watermark_back():
    first = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(100), timestamp="earliest")
        .aggregate(n=ms.count())
    )
    second = first.window(ms.fixed(10)).aggregate(n=ms.sum("n"))
    script = [Elements([("a", 1, 3), ("a", 1, 55)]), Watermark(60), Watermark(100)]
    panes = replay(second, steps=as_rows(script))
    assert [(p.step, p.window, p.value) for p in panes] == [(2, (0.0, 10.0), 2)]
    assert not panes.late


@pytest.mark.parametrize("trigger", [ms.after_count(5), ms.after_delay(30)], ids=repr)
def test_a_pane_that_comes_on_time_after_the_end_of_its_window_is_on_time_downstream(trigger):
    first = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10), allowed_lateness=60)
        .trigger(ms.repeatedly(trigger))
        .aggregate(n=ms.count())
    )
    second = first.window(ms.fixed(10)).aggregate(n=ms.sum("n"))
    script = [Elements([("a", 1, 1)]), Watermark(10), Watermark(70)]
    panes = replay(second, steps=as_rows(script))
    assert [(p.step, p.window, p.value, p.timing) for p in panes] == [
        (2, (0.0, 10.0), 1, "ON_TIME")
    ]
    assert not panes.late


def test_retractions_of_merged_away_sessions_hold_the_watermark_back():
    first = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.session(10), allowed_lateness=5)
        .trigger(ms.at_watermark(early=ms.after_delay(1), late=ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(n=ms.count())
    )
    second = (
        first.window(ms.fixed(10), allowed_lateness=5)
        .refine(ms.retracting)
        .aggregate(n=ms.sum("n"))
    )
    script = [Elements([("a", 1, 0)]), Watermark(10), Elements([("a", 1, 9)])]
    panes = replay(second, steps=as_rows([*script, Watermark(17), Watermark(19)]))
    # [0, 10) gave 1 when it ended; [0, 19) takes that back when it ends, far behind the watermark.
    assert [(p.step, p.kind, p.window, p.value) for p in panes] == [
        (1, "+", (0.0, 10.0), 1),
        (4, "-", (0.0, 10.0), 1),
    ]
    assert not panes.late


def test_two_branches_of_a_stream_meet_again():
    source = test_stream(SCHEMA, event_time="at")
    small = source.filter("value < 5").select("key", "value")
    large = source.filter("value >= 5").select("key", "value * 10 AS value")
    both = small.union(large).key_by("key").window(ms.fixed(10)).aggregate(sum=ms.sum("value"))
    panes = replay(both, steps=as_rows([Elements([("a", 1, 1), ("a", 7, 2)]), Watermark(10)]))
    assert [pane.value for pane in panes] == [71]


def test_the_watermark_of_a_union_is_that_of_its_slowest_input():
    one = test_stream(SCHEMA, event_time="at", name="one")
    two = test_stream(SCHEMA, event_time="at", name="two")
    counts = one.union(two).window(ms.fixed(10)).aggregate(n=ms.count())
    row = {"key": "a", "value": 1, "at": 1.0}
    panes = replay(
        counts,
        steps=[
            Elements([row], source="one"),
            Watermark(10, source="one"),
            Elements([row], source="two"),
            Watermark(10, source="two"),
        ],
    )
    assert [(pane.step, pane.value) for pane in panes] == [(3, 2)]


def test_processing_time_reaches_every_grouping_of_a_chain_in_one_step():
    trigger = ms.repeatedly(ms.after_delay(5))
    first = (
        test_stream(SCHEMA, event_time="at")
        .window(ms.fixed(10))
        .trigger(trigger)
        .aggregate(n=ms.count())
    )
    second = (
        first.window(ms.fixed(10))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .aggregate(n=ms.sum("n"))
    )
    panes = replay(second, steps=[*as_rows([Elements([("a", 1, 1)])]), ProcessingTime(6)])
    assert [(pane.step, pane.value) for pane in panes] == [(1, 1)]


def test_late_rows_of_a_grouping_are_a_stream_of_their_own():
    totals = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10))
        .aggregate(n=ms.count())
    )
    late = (
        totals.late.key_by("reason")
        .trigger(ms.repeatedly(ms.after_count(1)))
        .aggregate(n=ms.count())
    )
    panes = replay(late, steps=as_rows([Watermark(10), Elements([("a", 1, 3), ("a", 1, 4)])]))
    assert [(pane.key, pane.value) for pane in panes] == [("expired", 2)]


def test_a_column_kind_of_the_user_is_kept_where_no_row_can_be_taken_back():
    rows = ms.from_rows([("a", 1), ("b", 2)], schema="key string, n int")
    totals = rows.key_by("key").refine(ms.retracting).aggregate(n=ms.sum("n"))
    best = totals.key_by("key").refine(ms.accumulating).aggregate(n=ms.max("n"))
    groups = best.select("key", kind="concat('of ', key)").group()
    (pane,) = groups.collect().run().rows()
    assert pane["values"] == [{"key": "a", "kind": "of a"}, {"key": "b", "kind": "of b"}]


def test_a_column_replaces_one_whose_name_differs_by_case_alone():
    rows = ms.from_rows([("a", 1)], schema="key string, n int").with_columns(KEY="upper(key)")
    assert rows.collect().run().rows() == [{"KEY": "A", "n": 1}]


def test_late_retractions_say_that_they_are_retractions():
    totals = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10), allowed_lateness=60)
        .refine(ms.retracting)
        .aggregate(n=ms.count())
    )
    second = totals.drop("window", "pane").key_by("kind").window(ms.fixed(10))
    late = second.refine(ms.accumulating).aggregate(n=ms.sum("n")).late
    program = Interpreter(late.node)
    row = {"key": "a", "value": 1, "at": 1.0}
    (source,) = [node.name for node in walk(late.node) if not node.inputs]
    made = [
        program.step(rows={source: [row]}, watermarks={source: 10_000_000}),
        program.step(rows={source: [row]}),
    ]
    rows = [row.values for step in made for row in step.rows[late.node]]
    assert [(row["kind"], row["n"], row["reason"]) for row in rows] == [
        ("-", 1, "expired"),
        ("+", 2, "expired"),
    ]


def test_rejected_records_keep_their_reason_and_the_rest_goes_on():
    rows = [
        {"key": "a", "value": 1, "at": 1.0},
        {"key": "b", "value": 0, "at": 2.0},
        {"key": "c", "value": 2, "at": None},
    ]
    timed = ms.from_rows(rows, SCHEMA, event_time="at", name="scores")
    inverse = timed.map(
        lambda row: {"key": row["key"], "x": 1 / row["value"]},
        schema="key string, x double",
        on_error="reject",
    ).named("inverse")
    job = ms.pipeline(inverse.collect("good"), inverse.rejected.collect("bad")).run()
    assert job.rows("good") == [{"key": "a", "x": 1.0}]
    bad = sorted((row["step"], row["reason"]) for row in job.rows("bad"))
    assert bad == [
        ("event_time-1", "event time 'at': it is null"),
        ("inverse", "ZeroDivisionError: division by zero"),
    ]
    assert (job.late, job.rejected) == (0, 2)


def test_a_replay_shows_what_was_rejected_and_which_grouping_was_late():
    counts = (
        test_stream("n int, at double", event_time="at", name="numbers")
        .window(ms.fixed(10))
        .aggregate(n=ms.count())
        .named("counts")
    )
    rows = [{"n": 1, "at": 3.0}, {"n": 2, "at": None}, {"n": 3, "at": 1e15}]
    panes = replay(counts, steps=[Watermark(10), Elements(rows)])
    assert [(late.value["n"], late.reason, late.grouping) for late in panes.late] == [
        (1, "expired", "counts")
    ]
    assert [one["step"] for one in panes.rejected] == ["event_time-1"] * 2
    assert "it is null" in panes.rejected[0]["reason"]
    assert "outside the years 1 to 9999" in panes.rejected[1]["reason"]


def test_a_failing_function_names_the_step_the_function_and_the_record():
    def invert(row):
        return {"x": 1 / row["n"]}

    stream = ms.from_rows([(0,)], schema="n int").map(invert, schema="x double").named("inverse")
    with pytest.raises(RunError, match="MS201") as caught:
        stream.collect().run()
    for part in ("'inverse'", "invert", "{'n': 0}", "ZeroDivisionError"):
        assert part in str(caught.value)


def test_a_function_that_returns_something_else_than_a_row_is_told_so():
    rows = ms.from_rows([(1,)], schema="n int")
    for made, says in [
        ({"y": 1}, "has no column 'x'"),
        ({"x": "one"}, "has 'one' in column 'x', which does not fit INT"),
        (None, "is None, which is no row"),
        ((1, 2), r"is \(1, 2\), 2 values, which is no row"),
    ]:
        says = f"MS202 in step 'map-1': the result of <lambda> {says}.*; it was made of the record"
        with pytest.raises(RunError, match=f"{says} {{'n': 1}}\n"):
            rows.map(lambda row, made=made: made, schema="x int").collect().run()


def test_of_a_large_batch_on_which_a_function_fails_a_few_records_are_shown():
    rows = ms.from_rows(((n,) for n in range(1000)), schema="n int")
    for function, says in [
        (lambda batch: 1 / 0, "MS201 in step 'map_batches-1': <lambda> failed on the records"),
        (lambda batch: [("x",)], "MS202 .*; it was made of the records"),
    ]:
        with pytest.raises(RunError, match=rf"{says} \[{{'n': 0}}, .*'n': 9}} and 990 more\]"):
            rows.map_batches(function, schema="n int").collect().run()


@pytest.mark.parametrize("made", [None, 1, "ab", {"x": 1}])
@pytest.mark.parametrize("method", ["flat_map", "map_batches"])
def test_a_function_that_should_give_several_rows_is_told_so(made, method):
    rows = ms.from_rows([(1,)], schema="n int")
    with pytest.raises(RunError, match=f"MS202 in step '{method}-1': .*, not several rows"):
        getattr(rows, method)(lambda row: made, schema="x int").collect().run()


def test_the_reason_of_a_rejected_record_is_one_line():
    rows = ms.from_rows([(1,), (2,), (3,)], schema="n int")

    def fail(row):
        if row["n"] == 3:
            raise ValueError("half \ud83d")
        return {"x": "one"} if row["n"] == 1 else ms.fixed(0)

    bad = rows.map(fail, schema="x int", on_error="reject").rejected
    assert [row["reason"] for row in bad.collect().run().rows()] == [
        "the result of fail has 'one' in column 'x', which does not fit INT",
        "size must be longer than zero, but is 0",
        "ValueError: half \\ud83d",
    ]


def test_an_expression_that_fails_names_the_step_and_the_record():
    stream = ms.from_rows([(0,)], schema="n int").select("1 / n AS x").named("inverse")
    with pytest.raises(RunError) as caught:
        stream.collect().run()
    assert str(caught.value).splitlines()[:2] == [
        "MS219 in step 'inverse': column 'x', 1 / n, cannot be computed for the record {'n': 0}: "
        "Division by zero",
        '  What to do: use try_divide, which gives null, or write on_error="reject" to send such '
        "rows to .rejected",
    ]


def test_a_key_that_fails_is_named():
    keyed = ms.from_rows([(0,)], schema="n int").key_by(x="1 / n").aggregate(n=ms.count())
    with pytest.raises(
        RunError, match="MS219 in step 'aggregate-1': the key 'x', 1 / n, cannot be computed"
    ) as caught:
        keyed.collect().run()
    assert "with_columns(…, on_error='reject')" in caught.value.fix


def test_a_combine_that_fails_names_the_step_and_the_value():
    wrong = ms.combine("n", create=list, add=lambda acc, n: acc + n, extract=len, returns="int")
    with pytest.raises(RunError, match=r"MS201 in step 'aggregate-1': combine.* the value 7: "):
        ms.from_rows([(7,)], schema="n int").aggregate(n=wrong).collect().run()


def test_what_the_reference_cannot_compute_names_the_step_before_any_row():
    rows = ms.from_rows([("ann",)], schema="user string")
    whole = "MS203 in step 'select-1': the reference cannot compute INITCAP(user)"
    for text, says in [
        ("initcap(user)", f"{whole}\n"),
        ("upper(initcap(user))", f"{whole}, a part of UPPER(INITCAP(user))\n"),
    ]:
        with pytest.raises(RunError) as caught:
            Interpreter(*rows.select(x=text).collect().sinks)
        assert str(caught.value).startswith(says)
    with pytest.raises(RunError, match="MS203 in step 'aggregate-1'"):
        replay(rows.key_by(x="initcap(user)").aggregate(n=ms.count()), steps=[])


def test_an_endless_source_cannot_be_run_without_an_engine_for_it():
    stream = test_stream("n int", name="numbers")
    with pytest.raises(RunError, match="MS204 in step 'numbers'"):
        stream.collect().run()


ELEMENTS = st.tuples(st.sampled_from("ab"), st.integers(0, 9), st.integers(0, 40))


@given(st.lists(ELEMENTS, max_size=9))
def test_a_bounded_run_gives_one_final_pane_for_each_window(elements):
    rows = [{"key": k, "value": v, "at": float(t)} for k, v, t in elements]
    totals = (
        ms.from_rows(rows, SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10))
        .aggregate(total=ms.sum("value"))
    )
    made = {
        (row["key"], row["window"]["start"].timestamp()): row["total"]
        for row in totals.collect().run().rows()
    }
    expected = Counter()
    for key, value, time in elements:
        expected[key, float(time // 10 * 10)] += value
    assert made == dict(expected)
