"""The columnar engine gives what the reference gives, for random programs and random input."""

from __future__ import annotations

from collections import Counter

from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.reference.ordering import ordering
from millstream.testing import Elements, replay, test_stream
from scripts import refinements, safe_triggers, settings_of_windows, steps, triggers, windows

AGGREGATES = [
    None,
    *(f("value") for f in (ms.sum, ms.count, ms.min, ms.max, ms.mean, ms.variance, ms.stddev)),
    *(f("value") for f in (ms.first, ms.last, ms.any_value, ms.collect, ms.collect_set)),
    *(f("value") for f in (ms.count_distinct, ms.approx_distinct)),
    ms.top(2, by="value % 3"),
    ms.quantile("value", 0.3),
]


def seen(panes):
    """All that a pane tells, its timestamp too; floats as far as they are sure."""
    return [
        (p.step, p.kind, p.key, p.window, rounded(p.values), p.timing, p.index, *_rest(p))
        for p in panes
    ]


def _rest(pane):
    return pane.first, pane.last, pane.timestamp


def rounded(value):
    if isinstance(value, dict):
        return {name: rounded(each) for name, each in value.items()}
    return round(value, 9) if isinstance(value, float) else value


def assert_agree(what, **program):
    expected = replay(what, **program)
    actual = replay(what, engine="columnar", **program)
    assert seen(actual) == seen(expected)
    assert Counter(map(late, actual.late)) == Counter(map(late, expected.late))


def late(element):
    return element.key, ordering(element.value), element.time, element.window, element.reason


@settings(max_examples=2000)
@given(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(AGGREGATES),
    steps(8),
)
def test_a_grouping_gives_the_same_panes(window, trigger, refine, options, aggregate, script):
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


@settings(max_examples=200)
@given(
    windows(("fixed", "sliding", "session")),
    safe_triggers(),
    windows(("fixed", "session")),
    safe_triggers(),
    st.sampled_from([ms.accumulating, ms.retracting]),
    st.sampled_from([0, "100d"]),
    steps(8),
)
def test_a_chain_of_groupings_gives_the_same_panes(
    first, first_trigger, second, second_trigger, refine, lateness, script
):
    default = ms.repeatedly(ms.at_watermark())
    totals = (
        test_stream("key string, value int, at double", event_time="at")
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
        .aggregate(
            n=ms.count(), keys=ms.collect_set("key"), low=ms.min("best"), mean=ms.mean("total")
        )
    )
    assert_agree(spread, steps=[_as_rows(step) for step in script])


def _as_rows(step):
    if not isinstance(step, Elements):
        return step
    return Elements({"key": k, "value": v, "at": float(t)} for k, v, t in step.items)


@settings(max_examples=200)
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
    shards = [replay(steps=[_only(step, key) for step in script], **program) for key in "ab"]
    assert Counter(seen(whole)) == Counter(pane for shard in shards for pane in seen(shard))
    assert Counter(whole.late) == Counter(late for shard in shards for late in shard.late)


def _only(step, key):
    if not isinstance(step, Elements):
        return step
    return Elements(element for element in step.items if element[0] == key)


@given(windows(), triggers(), steps(8), st.randoms(use_true_random=False))
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
