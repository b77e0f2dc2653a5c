"""What of its state a shard reads and writes; test_agreement.py has what it gives."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl

import millstream as ms
from millstream.engine import shard as shard_module
from millstream.engine.blobs import unpacked
from millstream.engine.scatter import Scatter
from millstream.engine.shard import LANES, Shard, sharded
from millstream.engine.tables import Aggregated
from millstream.model.windowing import Windowing
from shards import DictStore

GROUPING = sharded(
    Windowing(ms.fixed(10)), ["key"], [Aggregated("n", ms.count())], keeps_late=False
)


def batch(keys, time):
    table = {"key": keys, "time": time * 1_000_000, "sign": 1}
    return pl.DataFrame(table, schema_overrides={"time": pl.Int64})


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
