"""The columnar engine gives what the reference gives, for random programs and random input."""

from __future__ import annotations

from collections import Counter
from contextlib import ExitStack
from math import inf
from unittest.mock import patch

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import AGGREGATES, OF_ORDER, late, seen
from chains import SHAPES, as_rows, chain_of
from millstream.engine.exchange import scatter
from millstream.engine.grouping import slice_tree
from millstream.engine.grouping.folding import accumulator
from millstream.engine.state import arrivals, parts, resharding
from millstream.model.errors import RunError
from millstream.testing import Elements, Watermark, engines, replay, test_stream
from scripts import (
    LARGE,
    LAST_SECOND,
    NUMBERS,
    OTHERS,
    refinements,
    safe_triggers,
    settings_of_windows,
    steps,
    triggers,
    waiting_triggers,
    windows,
)
from shards import CombiningGroups, RescaledGroups, ShardGroups

PROGRAMS = [
    *((aggregate, values) for values in NUMBERS.values() for aggregate in AGGREGATES),
    *((a, values) for values in LARGE.values() for a in (*OF_ORDER, *4 * [ms.sum("value")])),
    *((aggregate, values) for values in OTHERS.values() for aggregate in OF_ORDER),
]


def outcome(what, **program):
    """What is seen, and what was late; or why it failed."""
    try:
        panes = replay(what, **program)
    except RunError as error:
        return error.code, error.what
    return seen(panes), Counter(map(late, panes.late))


@pytest.fixture(autouse=True)
def _engines(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "shards", ShardGroups)
    monkeypatch.setitem(engines.ENGINES, "combining", CombiningGroups)
    monkeypatch.setitem(engines.ENGINES, "rescaled", RescaledGroups)
    # The keys of replays are one column of numbers.
    monkeypatch.setattr(resharding, "key_columns", lambda table: ["key"])


# What a shard does with many rows or windows, it does with few in some examples.
SIZES = st.fixed_dictionaries(
    {
        "MOST_PARTS": st.sampled_from([1, 2, 16]),
        "MANY_ROWS": st.sampled_from([1, 3, 100_000]),
        "_FEW_ARRIVALS": st.sampled_from([0, 8]),
        "_MANY_WINDOWS": st.sampled_from([0, 1, 16]),
    }
)


def assert_agree(what, engine, sizes, **program):
    expected = outcome(what, **program)
    with ExitStack() as patched:
        for name, size in sizes.items():
            (module,) = (m for m in (scatter, parts, arrivals) if hasattr(m, name))
            patched.enter_context(patch.object(module, name, size))
        found = outcome(what, engine=engine, **program)
    if engine == "combining" and isinstance(found[1], Counter):
        # It does not keep what comes late: it counts.
        assert found[0] == expected[0]
        assert found[1].total() == expected[1].total()
    else:
        assert found == expected


@settings(max_examples=2000)
@given(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(PROGRAMS).flatmap(lambda p: st.tuples(st.just(p[0]), steps(8, values=p[1]))),
    st.sampled_from(["columnar", "columnar", "shards", "combining", "rescaled"]),
    SIZES,
)
def test_a_grouping_gives_the_same_panes(window, trigger, refine, options, program, engine, sizes):
    aggregate, script = program
    assert_agree(
        None,
        engine,
        sizes,
        window=window,
        trigger=trigger,
        refine=refine,
        aggregate=aggregate,
        allow_data_loss=True,
        steps=script,
        **options,
    )


POLICIES = ("count", "clock")


@settings(max_examples=1000)
@given(
    windows(POLICIES),
    st.none() | triggers(watermark=False),
    refinements(),
    settings_of_windows(lateness=0),
    st.sampled_from(PROGRAMS).flatmap(lambda p: st.tuples(st.just(p[0]), steps(8, values=p[1]))),
    st.sampled_from(["columnar", "columnar", "shards", "combining", "rescaled"]),
    SIZES,
)
def test_windows_that_the_watermark_does_not_end_give_the_same_panes(
    window, trigger, refine, options, program, engine, sizes
):
    aggregate, script = program
    assert_agree(
        None,
        engine,
        sizes,
        window=window,
        trigger=trigger,
        refine=refine,
        aggregate=aggregate,
        allow_data_loss=True,
        steps=script,
        **options,
    )


THAT_MERGE = [a for a in AGGREGATES if accumulator(a, "n", "value") is not None]


@settings(max_examples=400)
@given(
    st.builds(ms.sliding, st.integers(2, 40), st.integers(1, 9), st.integers(-5, 5)),
    waiting_triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from([p for p in PROGRAMS if p[0] in THAT_MERGE]).flatmap(
        lambda p: st.tuples(
            st.just(p[0]),
            st.sampled_from([-20, LAST_SECOND - 30]).flatmap(lambda t: steps(20, p[1], start=t)),
        )
    ),
    st.sampled_from(["shards", "combining", "rescaled"]),
    SIZES,
    st.sampled_from([1, 1_000_000]),
)
def test_windows_that_share_slices_have_the_same_panes(
    window, trigger, refine, options, program, engine, sizes, at_a_time
):
    aggregate, script = program
    with patch.object(slice_tree, "_MOST_ROWS", at_a_time):
        assert_agree(
            None,
            engine,
            sizes,
            window=window,
            trigger=trigger,
            refine=refine,
            aggregate=aggregate,
            allow_data_loss=True,
            steps=script,
            **{**options, "timestamp": "end"},
        )


OVER_TOTALS = {
    "n": ms.count(),
    "known": ms.count("best"),
    "keys": ms.collect_set("key"),
    "low": ms.min("best"),
    "high": ms.max("best"),
    "sum": ms.sum("total"),
    "mean": ms.mean("total"),
    "spread": ms.stddev("best"),
    "median": ms.quantile("best"),
    "first": ms.first("total"),
    "last": ms.last("key"),
    "all": ms.collect("best"),
    "best": ms.top(2, by="total", of="key"),
    "distinct": ms.count_distinct("total"),
    "least": ms.combine(
        "best",
        create=list,
        add=lambda few, value: sorted([*few, value])[:2],
        extract=lambda few: few,
        returns="array<double>",
    ),
}


@settings(max_examples=150)
@given(
    SHAPES,
    st.sampled_from([NUMBERS["digits"], NUMBERS["floats"]]).flatmap(lambda v: steps(8, values=v)),
    st.sampled_from(["columnar", "shards"]),
    SIZES,
)
def test_a_chain_of_groupings_gives_the_same_panes(shape, script, engine, sizes):
    chain = chain_of(shape, "double", **OVER_TOTALS)
    assert_agree(chain, engine, sizes, steps=[as_rows(step) for step in script])


@settings(max_examples=500)
@given(
    windows(("delta", "marked")),
    st.none() | triggers(watermark=False),
    refinements(),
    st.sampled_from(AGGREGATES),
    st.sampled_from(list(NUMBERS.values())).flatmap(lambda values: steps(8, values=values)),
    st.sampled_from(["columnar", "columnar", "shards", "combining", "rescaled"]),
    SIZES,
)
def test_windows_that_depend_on_values_give_the_same_panes(
    window, trigger, refine, aggregate, script, engine, sizes
):
    assert_agree(
        None,
        engine,
        sizes,
        window=window,
        trigger=trigger,
        refine=refine,
        aggregate=aggregate,
        allow_data_loss=True,
        steps=script,
    )


@settings(max_examples=100)
@given(
    windows((*POLICIES, "delta", "marked")),
    safe_triggers(watermark=False),
    windows(("fixed", "session", "count", "clock")),
    st.sampled_from([ms.discarding, ms.accumulating, ms.retracting]),
    st.sampled_from(["end", "earliest", "latest"]),
    steps(8),
    st.sampled_from(["columnar", "shards"]),
    SIZES,
)
def test_a_chain_over_windows_that_the_watermark_does_not_end_gives_the_same_panes(
    first, trigger, second, refine, timestamp, script, engine, sizes
):
    rows = test_stream("key string, value double, at double", event_time="at").key_by("key")
    refine = ms.accumulating if refine is ms.retracting and not second.by_watermark else refine
    totals = (
        rows.window(first, timestamp=timestamp)
        .trigger(trigger or ms.repeatedly(ms.after_count(3)))
        .refine(refine)
        .aggregate(total=ms.sum("value"), best=ms.max("value"))
    )
    spread = totals.key_by("total % 3 AS rest").window(second).refine(ms.accumulating)
    chain = spread.aggregate(**OVER_TOTALS)
    assert_agree(chain, engine, sizes, steps=[as_rows(step) for step in script])


@pytest.mark.parametrize("engine", ["reference", "columnar", "shards"])
@pytest.mark.parametrize(
    "window",
    [
        ms.fixed(7, -3),
        ms.sliding(7, 7, -3),
        ms.session(7),
        ms.calendar("month", timezone="America/Lima"),
    ],
)
def test_a_pane_of_the_global_window_falls_into_the_last_window_of_all(window, engine):
    counts = (
        test_stream("key string, value int, at double", event_time="at")
        .key_by("key")
        .trigger(ms.repeatedly(ms.after_count(1)))
        .aggregate(n=ms.count())
    )
    panes = replay(
        counts.window(window).aggregate(n=ms.count()),
        engine=engine,
        steps=[
            Elements([{"key": "a", "value": 1, "at": 1.0}]),
            Watermark(5),
            Elements([{"key": "a", "value": 1, "at": 8.0}]),
            Watermark.end(),
        ],
    )
    assert [(p.step, p.values, p.window[1], p.timing) for p in panes] == [(3, 2, inf, "ON_TIME")]
    assert not panes.late


@settings(max_examples=100)
@given(windows(), triggers(), refinements(), steps(8))
def test_shards_of_the_keys_give_together_what_all_keys_give(window, trigger, refine, script):
    program = {
        "window": window,
        "trigger": trigger,
        "refine": refine,
        "allowed_lateness": 5,
        "allow_data_loss": True,
        "engine": "columnar",
    }
    whole = replay(steps=script, **program)
    with patch("millstream.engine.grouping.compiled._MANY_ROWS", 0):  # group window by window, too
        shards = [replay(steps=[_only(step, key) for step in script], **program) for key in "ab"]
    assert Counter(seen(whole)) == Counter(pane for shard in shards for pane in seen(shard))
    assert Counter(whole.late) == Counter(late for shard in shards for late in shard.late)


def _only(step, key):
    if not isinstance(step, Elements):
        return step
    return Elements(element for element in step.items if element[0] == key)


@settings(max_examples=100)
@given(windows(), triggers(), steps(8, NUMBERS["floats"]), st.randoms(use_true_random=False))
def test_the_order_within_a_batch_does_not_matter(window, trigger, script, shuffler):
    program = {
        "window": window,
        "trigger": trigger,
        "refine": ms.retracting,
        "allowed_lateness": 5,
        "timestamp": "latest",
        "allow_data_loss": True,
        "aggregate": ms.collect("value"),
        "engine": "columnar",
    }
    shuffled = []
    for step in script:
        items = list(step.items) if isinstance(step, Elements) else []
        shuffler.shuffle(items)
        shuffled.append(Elements(items) if items else step)
    assert seen(replay(steps=script, **program)) == seen(replay(steps=shuffled, **program))
