"""Joins without windows: always that of all rows so far, less those that were taken back."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.model.errors import PlanError, RunError
from millstream.testing import Elements, Watermark, replay, test_stream
from random_joins import RandomJoins, net

ENGINES = ("reference", "columnar")
LEFT, RIGHT = "k int, v int, at double", "k int, w int, since double"


def sides():
    left = test_stream(LEFT, event_time="at", name="left").drop("at")
    return left, test_stream(RIGHT, event_time="since", name="right").drop("since")


def joined(how, engine, steps, **options):
    left, right = sides()
    made = replay(left.join(right, on="k", how=how, **options), steps=steps, engine=engine)
    rows = [(row.step, row.kind, row.values.get("v"), row.values.get("w")) for row in made]
    return sorted(rows, key=lambda row: (row[0], row[1] == "+", str(row)))


def lefts(*rows):
    return Elements([(k, v, float(at)) for k, v, at in rows], source="left")


def rights(*rows):
    return Elements([(k, w, float(at)) for k, w, at in rows], source="right")


EXPECTED = {
    "inner": [(1, "+", 10, 5)],
    "left": [(0, "+", 10, None), (0, "+", 20, None), (1, "-", 10, None), (1, "+", 10, 5)],
    "right": [(1, "+", 10, 5), (1, "+", None, 6)],
    "full": [
        (0, "+", 10, None), (0, "+", 20, None),
        (1, "-", 10, None), (1, "+", 10, 5), (1, "+", None, 6),
    ],
    "semi": [(1, "+", 10, None)],
    "anti": [(0, "+", 10, None), (0, "+", 20, None), (1, "-", 10, None)],
}  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", EXPECTED)
def test_each_row_emits_what_it_changes(how, engine):
    steps = [lefts((1, 10, 0), (None, 20, 0)), rights((1, 5, 1), (3, 6, 1))]
    assert joined(how, engine, steps, unbounded_state=True) == EXPECTED[how]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_meet_that_are_at_most_the_ttl_apart_and_later_ones_are_late(engine):
    steps = [
        lefts((1, 10, 0), (1, 20, 6)),
        rights((1, 5, 5), (1, 6, 11)),
        Watermark(10),
        rights((1, 7, 4.9), (1, 8, 5)),
    ]
    assert joined("inner", engine, steps, ttl=5) == [
        (1, "+", 10, 5), (1, "+", 20, 5), (1, "+", 20, 6), (3, "+", 10, 8), (3, "+", 20, 8),
    ]  # fmt: skip


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("how", ["inner", "left"])
def test_a_condition_decides_which_pairs_there_are(how, engine):
    steps = [lefts((1, 10, 0), (1, 1, 0)), rights((1, 5, 0))]
    made = joined(how, engine, steps, unbounded_state=True, where="v > w")
    pads = [(0, "+", 1, None), (0, "+", 10, None), (1, "-", 10, None)] if how == "left" else []
    assert made == [*pads, (1, "+", 10, 5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_what_groupings_take_back_is_taken_back(engine):
    left, right = sides()
    often = left.key_by("k").trigger(ms.repeatedly(ms.after_count(1))).refine(ms.retracting)
    totals = often.aggregate(v=ms.sum("v")).select("k", "v", "kind")
    made = replay(
        totals.join(right, on="k", unbounded_state=True),
        steps=[rights((1, 5, 0)), lefts((1, 10, 0)), lefts((1, 1, 0))],
        engine=engine,
    )
    rows = [(row.step, row.kind, row.values["v"], row.values["w"]) for row in made]
    assert sorted(rows) == [(1, "+", 10, 5), (2, "+", 11, 5), (2, "-", 10, 5)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_retraction_of_a_row_that_did_not_come_is_an_error(engine):
    left, right = sides()
    often = left.key_by("k").trigger(ms.repeatedly(ms.after_count(1))).refine(ms.retracting)
    numbers = iter(range(9))
    schema = "k int, v bigint, kind string, n int"
    wrong = (
        often.aggregate(v=ms.sum("v"))
        .select("k", "v", "kind")
        .map(lambda row: {**row, "n": next(numbers)}, schema)
    )
    with pytest.raises(RunError, match="MS233 in step 'join-1': a row is taken back that did not"):
        replay(
            wrong.join(right, on="k", unbounded_state=True),
            steps=[lefts((1, 10, 0)), lefts((1, 1, 0))],
            engine=engine,
        )


ROWS = st.lists(st.tuples(st.sampled_from([1, 2, None]), st.integers(0, 2)), max_size=6)


@settings(max_examples=60)
@given(ROWS, ROWS, st.sampled_from(["inner", "left", "right", "full", "semi", "anti"]))
def test_a_bounded_join_is_that_of_polars(one, other, how):
    left = ms.from_rows(one, "k int, v int", name="left")
    right = ms.from_rows(other, "k int, w int", name="right")
    rows = left.join(right, on="k", how=how).collect().run().rows()
    frames = (
        pl.DataFrame(some, schema={"k": pl.Int32, name: pl.Int32}, orient="row")
        for some, name in ((one, "v"), (other, "w"))
    )
    mine, others = frames
    expected = mine.join(
        others, on="k", how=how, coalesce=None if how in ("semi", "anti") else True
    )
    names = expected.columns
    assert Counter(tuple(row[name] for name in names) for row in rows) == Counter(
        expected.select(names).rows()
    )


def test_the_end_of_a_stream_is_the_batch_of_its_rows():
    for seed in range(30):
        drawn = RandomJoins(seed)
        stream = drawn.regular("plain")
        steps = [step for step in drawn.steps() if isinstance(step, Elements)]
        together = [
            Elements([row for s in steps if s.source == side for row in s.items], source=side)
            for side in ("rows", "versions")
        ]
        once = [step for step in together if step.items]
        results = [
            net([row.values for row in replay(stream, steps=[*each, Watermark.end()])])
            for each in (steps, once)
        ]
        assert results[0] == results[1]


def test_endless_input_needs_a_time_to_live():
    left, right = sides()
    with pytest.raises(PlanError, match="MS144 in step 'join-1': the join keeps all rows"):
        left.join(right, on="k")
    with pytest.raises(PlanError, match="MS113 .*unbounded_state=True keeps all rows"):
        left.join(right, on="k", ttl=1, unbounded_state=True)
    with pytest.raises(PlanError, match="MS113.* are for joins without windows"):
        left.window(ms.fixed(1)).join(right.window(ms.fixed(1)), on="k", ttl=1)
    with pytest.raises(PlanError, match="MS115 .*ttl= is in event time"):
        left.join(test_stream("k int"), on="k", ttl=1)


def test_keys_may_be_those_of_key_by_or_pairs():
    left, right = sides()
    keyed = left.key_by("k").join(right.key_by("k"), unbounded_state=True)
    assert keyed.schema.names == ("k", "v", "w")
    assert left.join(right, on=("v", "w"), unbounded_state=True).schema.names == (
        "k", "v", "k_right",
    )  # fmt: skip
    with pytest.raises(PlanError, match="MS142 .*rows meet by on=…, or by as many keys"):
        left.key_by("k").join(right, on="k", unbounded_state=True)


def test_only_joins_that_may_change_their_minds_have_a_kind(capsys):
    left, right = sides()
    for how in EXPECTED:
        names = left.join(right, on="k", how=how, unbounded_state=True).schema.names
        assert ("kind" in names) == (how not in ("inner", "semi"))
    left.join(right, on="k", how="left", where="v > w", ttl="1m").explain()
    lines = capsys.readouterr().out.splitlines()[1:5]
    assert [line.lstrip("│ ") for line in lines] == [
        "joins  left", "on     k", "where  v > w", "lives  1m",
    ]  # fmt: skip
