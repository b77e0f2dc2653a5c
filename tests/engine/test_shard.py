"""What of its state a shard reads and writes; test_agreement.py has what it gives."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest

import millstream as ms
from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.state import arrivals as pieces
from millstream.engine.state import shard as shard_module
from millstream.engine.state.arrivals import LANES
from millstream.engine.state.blobs import unpacked
from millstream.engine.state.shard import Shard, sharded
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
    with patch.object(pieces, "MANY_ROWS", 100), patch.object(shard_module, "MOST_PARTS", 4):
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


def scattered(table, shards=2):
    scatter = Scatter(GROUPING, ["key"], shards)
    return [(n, a, unpacked(a.blob)) for n, a in [*scatter.take(table), *scatter.rest()]]


@pytest.mark.parametrize("repeated", [1, 5])
def test_keys_are_combined_whether_they_are_cut_apart_before_or_after_that(repeated):
    keys = [key for key in range(1000) for _ in range(repeated)]
    table = pl.concat([batch(keys, 1), batch(keys, 11)])
    with patch.object(pieces, "MANY_ROWS", 100):
        made = scattered(table)
    found = Counter({(a.window[0], k): n for _, a, t in made for k, n in t["key", "new"].rows()})
    assert found == {(start, key): repeated for start in (0, 10_000_000) for key in range(1000)}
    assert all(rows.columns[0] == "key" and "start" not in rows.columns for _, _, rows in made)
    assert all(arrival.rows == rows.height < 100 for _, arrival, rows in made)


def test_parts_without_a_key_become_one():
    grouping = sharded(Windowing(ms.fixed(10)), [], [Aggregated("n", ms.count())], keeps_late=False)
    store = DictStore()
    with patch.object(shard_module, "MOST_PARTS", 4):
        for _ in range(9):
            scatter = Scatter(grouping, [], 1)
            arrivals = [a for _, a in [*scatter.take(batch([1, 2], 1)), *scatter.rest()]]
            Shard(grouping, store).step(arrivals, 0, 0)
    assert len(store) - 1 < 9
    output = Shard(grouping, store).step([], 10_000_000, 0)
    assert [n for table in output.panes for n in table["n"]] == [18]
