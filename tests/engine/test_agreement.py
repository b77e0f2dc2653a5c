"""The columnar engine gives what the reference gives, for random programs and random input."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import AGGREGATES, OF_ORDER, late, seen
from millstream.model.errors import RunError
from millstream.testing import Elements, replay, test_stream
from scripts import (
    LARGE,
    NUMBERS,
    OTHERS,
    refinements,
    safe_triggers,
    settings_of_windows,
    steps,
    triggers,
    windows,
)

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


def assert_agree(what, **program):
    assert outcome(what, engine="columnar", **program) == outcome(what, **program)


@settings(max_examples=2000)
@given(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(PROGRAMS).flatmap(lambda p: st.tuples(st.just(p[0]), steps(8, values=p[1]))),
)
def test_a_grouping_gives_the_same_panes(window, trigger, refine, options, program):
    aggregate, script = program
    assert_agree(
        None,
        window=window,
        trigger=trigger,
        refine=refine,
        aggregate=aggregate,
        allow_data_loss=True,
        steps=script,
        **options,
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
        merge=lambda a, b: sorted(a + b)[:2],
        extract=lambda few: few,
        returns="array<double>",
    ),
}


@settings(max_examples=100)
@given(
    windows(("fixed", "sliding", "session")),
    safe_triggers(),
    windows(("fixed", "session")),
    safe_triggers(),
    st.sampled_from([ms.accumulating, ms.retracting]),
    st.sampled_from([0, "100d"]),
    st.sampled_from([NUMBERS["digits"], NUMBERS["floats"]]).flatmap(lambda v: steps(8, values=v)),
)
def test_a_chain_of_groupings_gives_the_same_panes(
    first, first_trigger, second, second_trigger, refine, lateness, script
):
    default = ms.repeatedly(ms.at_watermark())
    totals = (
        test_stream("key string, value double, at double", event_time="at")
        .key_by("key")
        .window(first, allowed_lateness="100d")
        .trigger(first_trigger or default)
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"), best=ms.max("value"))
    )
    spread = (
        totals.key_by("total % 3 AS rest")
        .window(second, allowed_lateness=lateness, timestamp="earliest")
        .trigger(second_trigger or default)
        .refine(refine)
        .aggregate(**OVER_TOTALS)
    )
    assert_agree(spread, steps=[_as_rows(step) for step in script])


def _as_rows(step):
    if not isinstance(step, Elements):
        return step
    return Elements({"key": k, "value": v, "at": float(t)} for k, v, t in step.items)


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
    with patch("millstream.engine.compiled._MANY_ROWS", 0):  # group window by window, too
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
