"""A replay of a user's own program on Spark gives what the reference gives, step by step."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import RunError
from millstream.testing import Elements, ProcessingTime, Watermark, replay, test_stream

SCHEMA = "key string, value int, at double"


def same(stream, steps, policies=False):
    """The panes, which are those of the reference, as is what was late and what was rejected."""
    expected = replay(stream, steps=steps, policies=policies)
    panes = replay(stream, steps=steps, policies=policies, engine="spark")
    assert panes == expected
    assert [pane.timestamp for pane in panes] == [pane.timestamp for pane in expected]
    assert sorted(map(repr, panes.late)) == sorted(map(repr, expected.late))
    assert [late.grouping for late in panes.late] == [late.grouping for late in expected.late]
    assert panes.rejected == expected.rejected
    return panes


def rows(*triples):
    return Elements([{"key": key, "value": value, "at": at} for key, value, at in triples])


def test_a_chain_of_groupings_advances_within_a_step():
    totals = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(10))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"))
    )
    keys = (
        totals.key_by("total")
        .window(ms.fixed(10))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(keys=ms.collect_set("key"))
    )
    steps = [
        rows(("a", 5, 1.0), ("b", 5, 2.0)),
        rows(("a", 4, 3.0)),
        Watermark(20),
        rows(("b", 1, 4.0)),
        Watermark.end(),
    ]
    panes = same(keys, steps)
    assert {pane.kind for pane in panes} == {"+", "-"}
    assert [late.grouping for late in panes.late] == ["aggregate-1"]


def test_sources_have_watermarks_of_their_own_and_steps_run_in_the_jvm_and_in_python():
    left = test_stream(SCHEMA, event_time="at", name="left").filter("value > 0")
    right = (
        test_stream("name string, at double", name="right")
        .map(lambda row: {**row, "name": row["name"].lower()}, schema="name string, at double")
        .select("name AS key", "length(name) AS value", "at")
        .with_event_time("at")
    )
    both = (
        left.union(right)
        .key_by(lambda row: row["key"][0], type="string")
        .window(ms.session(10), allowed_lateness=10)
        .trigger(ms.at_watermark(late=ms.after_count(1)))
        .refine(ms.accumulating)
        .aggregate(n=ms.count(), most=ms.max("value"))
    )
    steps = [
        Elements(
            [{"key": "ann", "value": 3, "at": 1.0}, {"key": "abe", "value": -1, "at": 2.0}], "left"
        ),
        Elements([{"name": "ADA", "at": 4.0}, {"name": "Bob", "at": None}], "right"),
        Watermark(100, "left"),
        Elements([{"name": "Amy", "at": 8.0}], "right"),
        Watermark(20, "right"),
        Elements([{"key": "ann", "value": 7, "at": 5.0}], "left"),
        Watermark.end("right"),
        Elements([{"key": "ann", "value": 7, "at": 5.0}], "left"),
    ]
    panes = same(both, steps)
    assert [(pane.step, pane.values["n"], pane.values["most"]) for pane in panes] == [
        (4, 3, 3),
        (5, 4, 7),
    ]
    assert len(panes.late) == 1
    assert len(panes.rejected) == 1


def test_the_clock_is_that_of_the_steps():
    counts = (
        test_stream(SCHEMA, event_time="at")
        .key_by("key")
        .window(ms.fixed(100))
        .trigger(ms.at_watermark(early=ms.repeatedly(ms.after_delay(10))))
        .refine(ms.accumulating)
        .aggregate(n=ms.count())
    )
    steps = [
        rows(("a", 1, 1.0)),
        ProcessingTime(9),
        rows(("a", 1, 2.0), ("b", 1, 3.0)),
        ProcessingTime(11),
        ProcessingTime(20),
    ]
    assert [(pane.step, pane.key) for pane in same(counts, steps)] == [(3, "a"), (4, "b")]


def test_policies_move_watermarks_by_rows_and_by_the_clock():
    policy = ms.bounded(5, idle=20, then="clock", ahead=60, on_ahead="reject")
    counts = (
        test_stream(SCHEMA, event_time="at", watermark=policy)
        .key_by("key")
        .window(ms.fixed(10))
        .aggregate(n=ms.count())
    )
    steps = [
        rows(("a", 1, 1.0), ("a", 1, 8.0)),
        rows(("b", 1, 15.0)),
        ProcessingTime(10),
        rows(("c", 1, 1000.0), ("c", 1, 2.0)),
        ProcessingTime(31),
        ProcessingTime(32),
    ]
    panes = same(counts, steps, policies=True)
    assert {pane.key for pane in panes} == {"a", "b"}
    assert len(panes.rejected) == 1
    same(counts, [*steps, Watermark(40), Watermark.end()])


def test_an_error_of_a_users_function_names_its_step():
    def fails(row):
        raise ValueError("no")

    counts = test_stream(SCHEMA, event_time="at").map(fails, schema=SCHEMA).named("failing")
    windows = counts.with_event_time("at").key_by("key").window(ms.fixed(10))
    with pytest.raises(RunError, match="failing") as caught:
        replay(windows.aggregate(n=ms.count()), steps=[rows(("a", 1, 1.0))], engine="spark")
    assert caught.value.code == "MS201"
