"""Joins and cogroups on Spark give what the reference gives: in windows, and all in batch."""

from __future__ import annotations

from collections import Counter

import pytest

import millstream as ms
from agreement import seen
from millstream.testing import Elements, Watermark, replay, test_stream
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.panes import Rows
from millstream.testing.pipelines import checked_program
from random_window_joins import HOW, RandomJoins

LEFT = [("a", 1, 1.0), ("a", 2, 2.0), ("b", 3, 3.0), (None, 4, 4.0), ("a", 5, 14.0)]
RIGHT = [("a", 10, 4.0), ("c", 12, 5.0), (None, 13, 6.0), ("a", 14, 15.0), ("a", 16, 16.0)]
SCHEMA = "k string, v int, at double"


def same(made, expected):
    """The order of the rows of a step is open."""
    assert Counter(map(repr, made.late)) == Counter(map(repr, expected.late))
    if isinstance(expected, Rows):
        assert Counter(map(repr, made)) == Counter(map(repr, expected))
    else:
        assert seen(made) == seen(expected)


@pytest.mark.parametrize("shapes", [["join"] * 4 + ["cogroup"], ["retracting"] * 2])
def test_random_programs_give_the_rows_and_late_rows_of_the_reference(shapes):
    drawn = []
    for seed, shape in enumerate(shapes):
        random = RandomJoins(seed)
        drawn.append((random.program(shape), random.steps(size=6)))
    made = replay_programs([Program(checked_program(s.node), steps) for s, steps in drawn])
    for (stream, steps), each in zip(drawn, made, strict=True):
        same(each, replay(stream, steps=steps))


def test_an_aggregate_of_a_join_and_a_join_of_joins_run_in_one_query():
    one, two, three = (test_stream(SCHEMA, event_time="at", name=name) for name in "abc")
    ten = ms.fixed(10)
    inner = one.window(ten).join(two.window(ten), on="k", suffix="_2")
    chain = inner.window(ten).join(three.window(ten), on="k", how="left", suffix="_3")
    total = chain.key_by("k").window(ten).aggregate(n=ms.count(), v=ms.sum("v_3"))
    steps = [
        Elements(LEFT, source="a"),
        Elements(RIGHT, source="b"),
        Watermark(11),
        Elements([("a", 7, 13.0), ("a", 8, 2.0)], source="c"),
        Watermark.end(),
    ]
    made, expected = (replay(total, steps=steps, engine=each) for each in ("spark", "reference"))
    # In the first window (a, 1) and (a, 2) meet (a, 10); in the second (a, 5) meets 14 and 16,
    # and both have the (a, 7) of the third stream. Its (a, 8) came too late.
    assert [(p.key, p.window, p.values) for p in expected] == [
        ("a", (0.0, 10.0), {"n": 2, "v": 0}),
        ("a", (10.0, 20.0), {"n": 2, "v": 14}),
    ]
    same(made, expected)
    assert len(expected.late) == 1


def test_a_batch_on_spark_equals_the_reference(spark):
    left, right = (
        ms.from_rows(rows, schema=SCHEMA, event_time="at", name=name)
        for name, rows in (("left", LEFT), ("right", RIGHT))
    )
    windows = left.window(ms.fixed(10)), right.window(ms.fixed(10))
    given = {"on": "k", "where": "v + v_right <> 12"}
    joins = {
        **{f"window {how}": windows[0].join(windows[1], how=how, **given) for how in HOW},
        **{f"regular {how}": left.join(right, how=how, **given) for how in HOW},
        **{
            f"interval {how}": left.interval_join(right, between=(-3, 3), how=how, **given)
            for how in HOW
        },
        **{
            f"{direction} {how}": left.temporal_join(
                right, on="k", how=how, direction=direction, tolerance=10
            )
            for how in HOW[:2]
            for direction in ("backward", "forward", "nearest")
        },
        "sizes": left.join(
            right.select("at", w="CAST(v AS BIGINT) + 1099511627776"), on=("v", "w"), how="full"
        ),
        "cogroup": ms.cogroup(a=windows[0].key_by("k"), b=windows[1].key_by("k")),
    }
    program = ms.pipeline(*(stream.collect(how) for how, stream in joins.items()))
    job, expected = program.run("joins", spark=spark, mode="batch"), program.run()
    for name in joins:
        made = job.rows(name)
        assert Counter(map(repr, made)) == Counter(map(repr, expected.rows(name))), name
        assert made, name
