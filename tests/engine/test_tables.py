"""Tables are joined by equal keys, of which NaN is one."""

from __future__ import annotations

import math

import polars as pl
import pytest

import millstream as ms
from millstream.engine.tables import looked_up
from millstream.testing import Elements, Watermark, replay, test_stream

NAN = math.nan


@pytest.mark.parametrize("kind", [pl.Float32, pl.Float64])
@pytest.mark.parametrize("keys", [[NAN], [1.0, NAN], [None, 1.0, NAN]])
def test_nan_and_null_equal_themselves_where_keys_are_sorted(kind, keys):
    table = pl.DataFrame({"k": keys}, schema={"k": kind}).sort("k")
    others = table.with_row_index("n")
    assert looked_up(table, others, ["k"])["n"].to_list() == list(range(len(keys)))
    assert looked_up(table, others, ["k"], "inner").height == len(keys)
    assert looked_up(table, others, ["k"]).columns == ["k", "n"]


class Numbered(ms.Processor):
    """Numbers the rows of each key."""

    class state:  # noqa: N801
        rows: int = 0

    def on_row(self, row, state, timers, out):
        state.rows += 1
        out.emit(k=row["k"], n=state.rows)


def side(name: str) -> ms.Stream:
    return test_stream("k double, v double, at double", event_time="at", name=name)


BOTH = ms.union(side("a"), side("b")).key_by("k")
PROGRAMS = {
    "temporal join": side("a").temporal_join(side("b"), on="k", how="left"),
    "regular join": side("a").join(side("b"), on="k", how="full", unbounded_state=True),
    "interval join": side("a").interval_join(side("b"), on="k", between=(-9, 9), how="full"),
    "condition": side("a").interval_join(
        side("b"), on="k", between=(-9, 9), how="left", where="v = v"
    ),
    "window join": side("a").window(ms.fixed(10)).join(side("b").window(ms.fixed(10)), on="k"),
    "sessions": BOTH.window(ms.session(3)).aggregate(n=ms.count()),
    "count windows": BOTH.window(ms.count_window(2)).aggregate(n=ms.count()),
    "process": BOTH.process(Numbered, "k double, n bigint"),
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_one_key_that_is_nan_is_the_same_key_in_each_step(name):
    steps = [
        Elements([(NAN, NAN, 5.0)], source="a"),
        Elements([(NAN, 1.0, 4.0)], source="b"),
        Elements([(NAN, 2.0, 6.0)], source="a"),
        Watermark.end(),
    ]
    made, expected = (
        replay(PROGRAMS[name], steps=steps, engine=each) for each in ("columnar", "reference")
    )
    assert expected
    assert sorted(map(repr, made)) == sorted(map(repr, expected))
