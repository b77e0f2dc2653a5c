"""Interval joins by arithmetic, on the reference and in columns: who meets whom, and when."""

from __future__ import annotations

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.model.errors import RunError
from millstream.testing import Elements, Watermark, replay, test_stream

VIEWS = test_stream("ad string, v int, seen double", event_time="seen", name="views")
CLICKS = test_stream("ad string, c int, at double", event_time="at", name="clicks")
ENGINES = ["reference", "columnar"]
engines = pytest.mark.parametrize("engine", ENGINES)


def viewed(*rows):
    return Elements([("x", number, time) for number, time in rows], source="views")


def clicked(*rows):
    return Elements([("x", number, time) for number, time in rows], source="clicks")


def joined(how="inner", between=(0, 10), refine=None, where=None):
    views = VIEWS if refine is None else VIEWS.refine(refine)
    return views.interval_join(CLICKS, on="ad", between=between, how=how, where=where)


def emitted(stream, steps, engine):
    """The step, view, click, event time and kind of each row."""
    rows = replay(stream, steps=steps, engine=engine)
    found = [(r.step, r.values.get("v"), r.values.get("c"), r.time, r.kind) for r in rows]
    return sorted(found, key=repr)


@engines
def test_both_ends_of_the_interval_belong_to_it(engine):
    steps = [viewed((1, 100)), clicked((1, 99.999999), (2, 100), (3, 110), (4, 110.000001))]
    pairs = [(1, 1, 2, 100.0, "+"), (1, 1, 3, 110.0, "+")]
    assert emitted(joined(), steps, engine) == pairs


@engines
def test_a_pair_is_emitted_when_its_second_row_comes_at_the_later_of_both_times(engine):
    steps = [clicked((1, 95)), viewed((1, 100)), clicked((2, 97))]
    assert emitted(joined(between=(-5, 0)), steps, engine) == [
        (1, 1, 1, 100.0, "+"),
        (2, 1, 2, 100.0, "+"),
    ]


@engines
def test_rows_that_come_together_meet_once(engine):
    views = VIEWS.interval_join(VIEWS.select("ad", w="v"), on="ad", between=(0, 10))
    rows = replay(views, steps=[viewed((1, 0), (2, 10))], engine=engine)
    assert sorted((r.values["v"], r.values["w"]) for r in rows) == [(1, 1), (1, 2), (2, 2)]


@engines
def test_a_row_is_padded_when_the_watermark_has_passed_its_interval_and_not_before(engine):
    steps = [viewed((1, 100), (2, 105)), clicked((7, 108)), Watermark(110), Watermark(110.000001)]
    steps += [Watermark(200)]
    # The view at 100 could meet a click at 110, which is not late while the watermark is 110. It
    # has met one; so has the one at 105.
    pairs = [(1, 1, 7, 108.0, "+"), (1, 2, 7, 108.0, "+")]
    assert emitted(joined("left"), steps, engine) == pairs
    alone = [viewed((1, 100), (2, 105)), Watermark(110), Watermark(110.000001), Watermark(200)]
    assert emitted(joined("left"), alone, engine) == [
        (2, 1, None, 100.0, "+"),
        (3, 2, None, 105.0, "+"),
    ]


@engines
def test_a_right_row_is_padded_when_no_left_row_can_come(engine):
    # A click at 50 meets views from 40 to 50.
    steps = [clicked((1, 50)), Watermark(50), Watermark(50.000001)]
    assert emitted(joined("right"), steps, engine) == [(2, None, 1, 50.0, "+")]
    assert emitted(joined("full"), [viewed((9, 30)), *steps], engine) == [
        (2, 9, None, 30.0, "+"),
        (3, None, 1, 50.0, "+"),
    ]


@engines
def test_a_row_that_no_row_to_come_can_meet_is_padded_at_once(engine):
    # A view at 100 meets clicks from 80 to 90, and the watermark is past them.
    steps = [Watermark(95), viewed((1, 100))]
    assert emitted(joined("left", (-20, -10)), steps, engine) == [(1, 1, None, 100.0, "+")]


@engines
def test_retracting_pads_at_once_and_takes_back(engine):
    steps = [viewed((1, 100)), clicked((1, 105)), clicked((2, 106)), Watermark.end()]
    assert emitted(joined("left", refine=ms.retracting), steps, engine) == [
        (0, 1, None, 100.0, "+"),
        (1, 1, 1, 105.0, "+"),
        (1, 1, None, 100.0, "-"),
        (2, 1, 2, 106.0, "+"),
    ]


@engines
def test_semi_emits_a_row_at_its_first_match_and_anti_if_there_is_none(engine):
    steps = [viewed((1, 100), (2, 150)), clicked((1, 105)), clicked((2, 106)), Watermark.end()]
    assert emitted(joined("semi"), steps, engine) == [(1, 1, None, 100.0, "+")]
    assert emitted(joined("anti"), steps, engine) == [(3, 2, None, 150.0, "+")]
    assert emitted(joined("anti", refine=ms.retracting), steps, engine) == [
        (0, 1, None, 100.0, "+"),
        (0, 2, None, 150.0, "+"),
        (1, 1, None, 100.0, "-"),
    ]


@engines
def test_null_equals_nothing_but_is_padded(engine):
    steps = [
        Elements([(None, 1, 0)], source="views"),
        Elements([(None, 1, 0)], source="clicks"),
        Watermark.end(),
    ]
    assert emitted(joined("inner"), steps, engine) == []
    assert emitted(joined("full"), steps, engine) == [
        (2, 1, None, 0.0, "+"),
        (2, None, 1, 0.0, "+"),
    ]


@engines
def test_what_is_not_a_number_equals_itself_and_both_zeros_are_one(engine):
    left = test_stream("k double, at double", event_time="at", name="left")
    right = test_stream("k double, t double", event_time="t", name="right")
    steps = [
        Elements([(float("nan"), 0), (-0.0, 0)], source="left"),
        Elements([(float("nan"), 0), (0.0, 0)], source="right"),
    ]
    rows = replay(left.interval_join(right, on="k", between=(0, 0)), steps=steps, engine=engine)
    assert len(rows) == 2


@engines
def test_a_further_condition_counts_for_pairs_and_for_rows_without_any(engine):
    steps = [viewed((1, 100), (5, 100)), clicked((3, 105)), Watermark.end()]
    assert emitted(joined("left", where="v < c"), steps, engine) == [
        (1, 1, 3, 105.0, "+"),
        (2, 5, None, 100.0, "+"),
    ]


@engines
def test_a_condition_that_fails_names_the_pair(engine):
    steps = [viewed((0, 100)), clicked((3, 105))]
    with pytest.raises(RunError, match="MS219 in step 'interval_join-1': where=, c / v = 1"):
        emitted(joined(where="c / v = 1"), steps, engine)


@engines
def test_rows_behind_the_watermark_are_late_and_meet_nothing(engine):
    steps = [viewed((1, 100)), Watermark(104), clicked((1, 103)), clicked((2, 104))]
    rows = replay(joined(), steps=steps, engine=engine)
    assert [row.values["c"] for row in rows] == [2]
    (late,) = rows.late
    assert late.values == {
        "ad": "x",
        "v": None,
        "seen": None,
        "c": 1,
        "at": 103.0,
        "side": "right",
        "reason": "behind",
    }


@engines
def test_a_row_that_is_taken_back_takes_back_its_pairs(engine):
    counts = VIEWS.key_by("ad").window(ms.fixed(100)).trigger(ms.repeatedly(ms.after_count(1)))
    views = counts.refine(ms.retracting).aggregate(v=ms.count()).select("ad", "v", "kind")
    stream = views.interval_join(CLICKS, on="ad", between=(0, 50))
    steps = [viewed((7, 10)), clicked((1, 120)), viewed((8, 20))]
    # The window [0, 100) has its panes at its last microsecond.
    assert emitted(stream, steps, engine) == [
        (1, 1, 1, 120.0, "+"),
        (2, 1, 1, 120.0, "-"),
        (2, 2, 1, 120.0, "+"),
    ]


@engines
@pytest.mark.parametrize(
    ("how", "reached"), [("inner", [0, 108, 108, 140]), ("left", [0, 100, 100, 140])]
)
def test_rows_that_may_yet_be_padded_hold_the_watermark(engine, how, reached):
    # Windows of a second after the join show how far its watermark is: none of their rows is late.
    counted = joined(how).window(ms.fixed(1)).aggregate(n=ms.count())
    steps = [viewed((1, 100)), Watermark(108), clicked((1, 109)), Watermark(140)]
    panes = replay(counted, steps=steps, engine=engine)
    assert not panes.late
    assert sum(pane.values for pane in panes) == 1
    from millstream.reference.interpreter import Interpreter
    from millstream.testing.engines import operators_of

    stream = joined(how)
    interpreter = Interpreter(stream.node, operators=operators_of(engine))
    found = []
    for step in steps:
        if isinstance(step, Watermark):
            interpreter.step(watermarks={"views": step.us, "clicks": step.us})
        else:
            interpreter.step(rows={step.source: named(step)})
        found.append(max(0, interpreter._watermarks[stream.node]) / 1e6)
    assert found == reached


def named(step):
    names = ("ad", "v", "seen") if step.source == "views" else ("ad", "c", "at")
    return [dict(zip(names, item, strict=True)) for item in step.items]


TIMES = st.lists(st.tuples(st.sampled_from("ab"), st.integers(0, 30)), max_size=12)


@settings(max_examples=60)
@given(TIMES, TIMES, st.integers(-9, 9), st.integers(0, 9))
def test_the_pairs_of_a_batch_are_those_of_two_loops(left, right, first, length):
    views = [(key, n, float(at)) for n, (key, at) in enumerate(left)]
    clicks = [(key, n, float(at)) for n, (key, at) in enumerate(right)]
    steps = [Elements(views, source="views"), Elements(clicks, source="clicks"), Watermark.end()]
    expected = [
        (v, c)
        for a, v, seen in views
        for b, c, at in clicks
        if a == b and first <= at - seen <= first + length
    ]
    met = {v for v, _ in expected}
    expected += [(v, None) for _, v, _ in views if v not in met]
    stream = joined("left", (first, first + length))
    for engine in ENGINES:
        rows = replay(stream, steps=steps, engine=engine)
        found = [(row.values["v"], row.values["c"]) for row in rows]
        assert sorted(found, key=repr) == sorted(expected, key=repr)
