"""State in memory, without shards and buckets."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import ROWS
from millstream.engine.state.in_memory import InMemoryStore, WholeOperator
from millstream.model.windowing import Windowing


def test_a_store_gives_what_it_was_given_until_that_is_removed():
    store = InMemoryStore()
    store.write("a", b"1")
    assert (store.read("a"), store.read("b")) == (b"1", None)
    store.remove("a")
    assert store.read("a") is None


def test_an_operator_keeps_its_state_and_its_time_between_steps():
    count = [Aggregated("n", ms.count())]
    whole = WholeOperator(Grouping(Windowing(ms.fixed(1e-5)), ["key"], count))
    batch = pl.DataFrame({"key": ["a", "a"], "time": [1, 2], "sign": 1})
    assert not whole.step({ROWS: batch}, watermark=5, now=0)[ROWS]
    assert whole.output_watermark == 5
    (panes,) = whole.step({}, watermark=10, now=0)[ROWS]
    assert panes["n"].to_list() == [2]
    whole.step({}, watermark=3, now=0)
    assert whole.output_watermark == 10
