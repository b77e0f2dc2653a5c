"""Joins in windows: random programs on columns give what the reference gives, step by step."""

from __future__ import annotations

from collections import Counter

import polars as pl
import pytest

import millstream as ms
from millstream.engine.pairs import LEFT, RIGHT, paired
from millstream.plan.names import with_distinct_names
from millstream.reference.rows import Row
from millstream.testing import columnar_operator, replay, test_stream
from random_window_joins import HOW, RandomJoins

PROGRAMS = 700


def seen(rows):
    """All that comes out; the order of the rows of a step is open."""
    return Counter(map(repr, rows)), Counter(map(repr, rows.late))


@pytest.mark.parametrize(("first", "shards"), [(0, 1), (200, 1), (400, 1), (600, 2)])
def test_random_joins_and_cogroups_agree_step_by_step(first, shards, monkeypatch):
    monkeypatch.setattr(columnar_operator, "SHARDS", shards)
    for seed in range(first, min(first + 200, PROGRAMS)):
        drawn = RandomJoins(seed)
        stream, steps = drawn.program(), drawn.steps()
        expected = seen(replay(stream, steps=steps))
        assert seen(replay(stream, steps=steps, engine="columnar")) == expected, f"seed {seed}"


PANES = pl.DataFrame(
    {
        "key 0": ["a", "b", None],
        LEFT: [[{"x": 1}, {"x": 2}], [], [{"x": 3}]],
        RIGHT: [[{"y": 1}], [{"y": 4}], [{"y": 5}]],
    }
)


@pytest.mark.parametrize("how", HOW)
def test_a_pane_is_joined_as_polars_joins_its_rows(how):
    left = pl.DataFrame({"key 0": ["a", "a", None], "x": [1, 2, 3]})
    right = pl.DataFrame({"key 0": ["a", "b", None], "y": [1, 4, 5]})
    expected = left.join(right, on="key 0", how=how, coalesce=True if how == "full" else None)
    rows = paired(PANES, ["key 0"], how).rows(named=True)
    made = [(r["key 0"], (r[LEFT] or {}).get("x"), (r[RIGHT] or {}).get("y")) for r in rows]
    columns = ["key 0", "x", "y"] if "y" in expected.columns else ["key 0", "x"]
    assert Counter(row[: len(columns)] for row in made) == Counter(
        expected.select(columns).iter_rows()
    )


@pytest.mark.parametrize("how", HOW[1:])
def test_a_condition_that_is_always_true_changes_nothing(how):
    always = paired(PANES, ["key 0"], how, lambda pairs: pl.repeat(True, pairs.height, eager=True))
    plain = paired(PANES, ["key 0"], how)
    assert Counter(map(str, always.select(plain.columns).rows())) == Counter(map(str, plain.rows()))


@pytest.mark.parametrize("is_join", [True, False])
def test_the_state_of_an_endless_join_or_cogroup_levels_off(is_join):
    left, right = (
        test_stream("k int, v int, at int", event_time="at", name=name).window(ms.fixed(10))
        for name in ("left", "right")
    )
    both = {"left": left.key_by("k"), "right": right.key_by("k")}
    made = left.join(right, on="k", how="full") if is_join else ms.cogroup(**both)
    (node,) = with_distinct_names(made.node)
    operator, sizes = columnar_operator.ColumnarOperator(node), []
    for second in range(200):
        rows = [
            Row({"k": n, "v": n, "at": second}, second * 1_000_000, place=("", n))
            for n in range(20)
        ]
        operator.step({"left": rows, "right": rows}, (second - 5) * 1_000_000, 0)
        kept = [state.of(node.name).clocks.buckets for state in operator.states]
        sizes.append(sum(bucket.all_rows for buckets in kept for bucket in buckets))
    # At most the rows of the current window, and of the one before while the watermark is in it.
    assert max(sizes[100:]) == max(sizes[:100]) <= 2 * 20 * 15


def test_a_batch_equals_a_join_of_polars():
    rows = [(n % 7, n, float(n * 3 % 50)) for n in range(300)]
    others = [(n % 9, n, float(n * 5 % 50)) for n in range(200)]
    schema = "k int, v int, at double"
    left = ms.from_rows(rows, schema=schema, event_time="at", name="left").window(ms.fixed(10))
    right = ms.from_rows(others, schema=schema, event_time="at", name="right").window(ms.fixed(10))
    made = left.join(right, on="k").select("k", "v", "v_right").collect().run().rows()
    tables = [
        pl.DataFrame(each, schema=["k", "v", "at"], orient="row").with_columns(
            window=pl.col("at") // 10
        )
        for each in (rows, others)
    ]
    expected = tables[0].join(tables[1], on=["k", "window"]).select("k", "v", "v_right")
    assert Counter(tuple(row.values()) for row in made) == Counter(expected.iter_rows())
