"""What of its state a shard reads and writes; what it emits, the agreement of columns tests."""

from __future__ import annotations

from collections import Counter
from unittest.mock import patch

import polars as pl
import pytest

import millstream as ms
from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import LATE, ROWS
from millstream.engine.state import arrivals, parts
from millstream.engine.state.arrivals import LANES
from millstream.engine.state.blobs import unpacked
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.model.windowing import Windowing

GROUPING = sharded(
    Windowing(ms.fixed(10)), ["key"], [Aggregated("n", ms.count())], keeps_late=False
)


def batch(keys, time):
    table = {"key": keys, "time": time * 1_000_000, "sign": 1}
    return pl.DataFrame(table, schema_overrides={"time": pl.Int64})


class Job:
    """One shard, whose state is a document and blobs between steps."""

    def __init__(self, grouping=GROUPING, keys=("key",)):
        self.grouping, self.keys = grouping, list(keys)
        self.store, self.document = InMemoryStore(), None
        self.reads = []

    def step(self, table, watermark):
        scatter = Scatter(self.grouping, self.keys, 1)
        mine = [a for _, a in [*scatter.take(table), *scatter.rest()]]
        state = ShardState(self, self.document)
        outputs = Shard(self.grouping, state.of("n")).step(mine, watermark * 1_000_000, 0)
        self.document = state.document.to_json()
        return outputs

    def read(self, name):
        self.reads.append(name)
        return self.store.read(name)

    def write(self, name, blob):
        self.store.write(name, blob)

    def remove(self, name):
        self.store.remove(name)


def test_a_batch_that_waits_for_its_window_reads_no_table():
    job = Job()
    job.step(batch(range(1000), 1), 0)
    held = dict(job.store)
    job.step(batch([1, 2, 3], 2), 0)
    assert job.reads == []
    assert job.store.keys() - held.keys() == {"n/0:10000000/rows+1"}
    assert all(job.store[name] == blob for name, blob in held.items())


def test_many_keys_are_kept_and_emitted_in_lanes():
    job = Job()
    with patch.object(arrivals, "MANY_ROWS", 100), patch.object(parts, "MOST_PARTS", 4):
        for _ in range(9):
            job.step(batch(range(1000), 1), 0)
            job.step(batch(range(0, 1000, 50), 2), 0)
        assert max(unpacked(blob).height for blob in job.store.values()) < 100
        assert len({name.partition("+")[0] for name in job.store if "#" in name}) == LANES
        outputs = job.step(batch([7], 3), 10)
    panes = {key: n for t in outputs[ROWS] for key, n in t.select("key", "n").iter_rows()}
    assert panes == {key: 9 + (9 if key % 50 == 0 else 0) + (key == 7) for key in range(1000)}
    assert sum(table.height for table in outputs[ROWS]) == 1000
    assert job.store == {}


def test_only_windows_in_which_something_happens_are_read():
    job = Job()
    for time in (5, 15, 25):
        job.step(batch([1, 2], time), 0)
    outputs = job.step(batch([], 0), 12)
    assert job.reads == ["n/0:10000000/rows+0"]
    rows = [(row["key"], row["n"]) for t in outputs[ROWS] for row in t.sort("key").to_dicts()]
    assert rows == [(1, 1), (2, 1)]
    assert not any(name.startswith("n/0:") for name in job.store)


def test_late_rows_are_counted_where_nothing_reads_them():
    job = Job()
    job.step(batch([1], 5), 20)
    outputs = job.step(batch([1, 1, 2], 5), 20)
    assert sum(table["new"].sum() for table in outputs[LATE]) == 3


def scattered(table, shards=2):
    scatter = Scatter(GROUPING, ["key"], shards)
    return [(n, a, unpacked(a.blob)) for n, a in [*scatter.take(table), *scatter.rest()]]


@pytest.mark.parametrize("repeated", [1, 5])
def test_keys_are_combined_whether_they_are_cut_apart_before_or_after_that(repeated):
    keys = [key for key in range(1000) for _ in range(repeated)]
    table = pl.concat([batch(keys, 1), batch(keys, 11)])
    with patch.object(arrivals, "MANY_ROWS", 100):
        made = scattered(table)
    found = Counter({(a.bucket[0], k): n for _, a, t in made for k, n in t["key", "new"].rows()})
    assert found == {(start, key): repeated for start in (0, 10_000_000) for key in range(1000)}
    assert all(rows.columns[0] == "key" and "start" not in rows.columns for _, _, rows in made)
    assert all(arrival.rows == rows.height < 100 for _, arrival, rows in made)


def test_parts_without_a_key_become_one():
    grouping = sharded(Windowing(ms.fixed(10)), [], [Aggregated("n", ms.count())], keeps_late=False)
    job = Job(grouping, keys=())
    with patch.object(parts, "MOST_PARTS", 4):
        for _ in range(9):
            job.step(batch([1, 2], 1), 0)
    assert len(job.store) < 9
    outputs = job.step(batch([], 0), 10)
    assert [n for table in outputs[ROWS] for n in table["n"]] == [18]
