"""A side without rows for a while does not hold a join: it goes by the watermark of the other."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.testing import Elements, ProcessingTime, replay, test_stream

TEN = ms.fixed(10)


def side(name: str, value: str) -> ms.Stream:
    """Rows whose watermark follows the newest of them, until none has come for ten seconds."""
    schema, time = f"k string, {value} int, {value}_at double", f"{value}_at"
    return test_stream(schema, time, ms.bounded(0, idle="10s"), name)


LEFT, RIGHT = side("left", "a"), side("right", "b")
JOINS = {
    "window": LEFT.window(TEN).join(RIGHT.window(TEN), on="k", how="left"),
    "cogroup": ms.cogroup(a=LEFT.key_by("k").window(TEN), b=RIGHT.key_by("k").window(TEN)),
    "interval": LEFT.interval_join(RIGHT, on="k", between=(-5, 5), how="left"),
    "temporal": LEFT.temporal_join(RIGHT, on="k", how="left"),
    "aggregate of a join": LEFT.interval_join(RIGHT, on="k", between=(-5, 5), how="left")
    .key_by("k")
    .window(TEN)
    .aggregate(n=ms.count()),
    "union": ms.union(LEFT.select("k", v="a"), RIGHT.select("k", v="b"))
    .key_by("k")
    .window(TEN)
    .aggregate(n=ms.count()),
}
STEPS = [
    ProcessingTime(0),
    Elements([("x", 1, 1.0), ("x", 2, 50.0)], source="left"),
    Elements([("x", 9, 2.0)], source="right"),
    ProcessingTime(5),
    Elements([("y", 3, 100.0)], source="left"),
    ProcessingTime(12),
]


@pytest.mark.parametrize("engine", ["reference", "columnar"])
@pytest.mark.parametrize("name", JOINS)
def test_rows_wait_for_the_other_side_until_it_is_idle(name, engine):
    made = replay(JOINS[name].select("k"), steps=STEPS, engine=engine, policies=True)
    decided = {
        "interval": [2, 5],  # a pair at once; the row at 50 is padded
        "temporal": [2, 5],  # the row at 1 is before all versions, the one at 50 is decided late
    }
    # The windows of 0 and of 50 end, in which the right side, at 2, would hold them.
    assert [row.step for row in made] == decided.get(name, [5, 5])
    assert {row.values["k"] for row in made} == {"x"}
