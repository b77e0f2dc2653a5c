"""A shard, whose state stands in buckets of a store, gives what the whole state gives."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import AGGREGATES, late, seen
from millstream.engine import shard as shard_module
from millstream.engine.blobs import unpacked
from millstream.engine.scatter import Scatter
from millstream.engine.shard import LANES, Shard, sharded
from millstream.engine.tables import Aggregated, Output
from millstream.model.windowing import Windowing
from millstream.reference.elements import Element, Late
from millstream.testing import engines, replay
from millstream.testing.on_columns import ColumnarGroups
from scripts import refinements, settings_of_windows, steps, triggers, windows

SHARDS = 3


class DictStore(dict):
    read = dict.get
    write = dict.__setitem__
    remove = dict.__delitem__


class ShardGroups(ColumnarGroups):
    """Three shards, each made anew from its store for every step; batches come in two parts."""

    keeps_late = True

    def __init__(self, windowing, columns, takes_retractions):
        super().__init__(windowing, columns, takes_retractions)
        self.sharded = sharded(
            windowing, ["key"], self._aggregated, takes_retractions, self.keeps_late
        )
        self.stores = [DictStore() for _ in range(SHARDS)]

    def _step(self, batch, watermark, now):
        scatters = [Scatter(self.sharded, ["key"], SHARDS) for _ in range(2)]
        arrivals = [[] for _ in range(SHARDS)]
        for i, scatter in enumerate(scatters):
            if batch is not None:
                for part in (batch[i::4], batch[i + 2 :: 4]):
                    for shard, arrival in scatter.take(part):
                        arrivals[shard].append(arrival)
                for shard, arrival in scatter.rest():
                    arrivals[shard].append(arrival)
        output, self.output_watermarks = Output(), []
        for store, mine in zip(self.stores, arrivals, strict=True):
            one = Shard(self.sharded, store)
            made = one.step(mine, watermark, now)
            output.panes += made.panes
            output.late += made.late
            self.output_watermarks.append(one.clocks.output_watermark)
        return output

    def advance_output_watermark(self):
        return min(self.output_watermarks)


class CombiningGroups(ShardGroups):
    keeps_late = False

    def _late(self, row, keyed):
        return Late(None, Element({"value": None}, 0), None, row["late"])


@pytest.fixture(autouse=True)
def _engines(monkeypatch):
    monkeypatch.setitem(engines.ENGINES, "shards", ShardGroups)
    monkeypatch.setitem(engines.ENGINES, "combining", CombiningGroups)


@settings(max_examples=200)
@given(
    windows(("fixed", "sliding", "session", "global", "calendar")),
    triggers(),
    refinements(),
    settings_of_windows(),
    st.sampled_from(AGGREGATES),
    steps(8),
    st.sampled_from([1, 2, 16]),
    st.sampled_from([1, 3, 100_000]),
)
def test_buckets_give_the_same_panes(
    window, trigger, refine, options, aggregate, script, parts, many
):
    program = {
        "window": window,
        "trigger": trigger,
        "refine": refine,
        "aggregate": aggregate,
        "allow_data_loss": True,
        "steps": script,
        **options,
    }
    expected = replay(**program)
    sizes = {"MOST_PARTS": parts, "MANY_ROWS": many}
    with patch.multiple(shard_module, **sizes):
        actual = replay(engine="shards", **program)
        combined = replay(engine="combining", **program)
    assert seen(actual) == seen(expected)
    assert Counter(map(late, actual.late)) == Counter(map(late, expected.late))
    assert seen(combined) == seen(expected)


GROUPING = sharded(
    Windowing(ms.fixed(10)), ["key"], [Aggregated("n", ms.count())], keeps_late=False
)


def batch(keys, time):
    return pl.DataFrame({"key": keys, "time": time * 1_000_000, "sign": 1})


def stepped(store, table, watermark):
    scatter = Scatter(GROUPING, ["key"], 1)
    arrivals = [a for _, a in [*scatter.take(table), *scatter.rest()]]
    return Shard(GROUPING, store).step(arrivals, watermark * 1_000_000, 0)


def test_a_batch_that_waits_for_its_window_reads_nothing_but_the_clocks():
    store = DictStore()
    stepped(store, batch(range(1000), 1), 0)
    held = dict(store)
    reads = []
    store.read = lambda name: reads.append(name) or DictStore.get(store, name)
    stepped(store, batch([1, 2, 3], 2), 0)
    assert reads == ["clocks"]
    assert {name for name in store if store[name] != held.get(name)} == {
        "clocks",
        "0:10000000+1",
    }


def test_many_keys_are_kept_and_let_out_in_lanes():
    store = DictStore()
    with patch.multiple(shard_module, MANY_ROWS=100, MOST_PARTS=4):
        for _ in range(9):
            stepped(store, batch(range(1000), 1), 0)
            stepped(store, batch(range(0, 1000, 50), 2), 0)
        sizes = [unpacked(blob).height for name, blob in store.items() if name != "clocks"]
        assert max(sizes) < 100
        assert len({name.partition("+")[0] for name in store if "#" in name}) == LANES
        output = stepped(store, batch([7], 3), 10)
    panes = {key: n for t in output.panes for key, n in t.select("key", "n").iter_rows()}
    assert panes == {key: 9 + (9 if key % 50 == 0 else 0) + (key == 7) for key in range(1000)}
    assert sum(table.height for table in output.panes) == 1000
    assert set(store) == {"clocks"}


def test_only_windows_in_which_something_happens_are_read():
    store = DictStore()
    for time in (5, 15, 25):
        stepped(store, batch([1, 2], time), 0)
    reads = []
    store.read = lambda name: reads.append(name) or DictStore.get(store, name)
    output = stepped(store, batch([], 0), 12)
    assert reads == ["clocks", "0:10000000+0"]
    assert [(row["key"], row["n"]) for t in output.panes for row in t.sort("key").to_dicts()] == [
        (1, 1),
        (2, 1),
    ]
    assert not any(name.startswith("0:") for name in store)


def test_late_rows_are_counted_where_they_are_not_wanted():
    store = DictStore()
    stepped(store, batch([1], 5), 20)
    output = stepped(store, batch([1, 1, 2], 5), 20)
    assert sum(table["new"].sum() for table in output.late) == 3
