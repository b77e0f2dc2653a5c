"""Batches that wait beside their bucket, and are merged now and then."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl

import millstream as ms
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import row_count
from millstream.engine.state import parts
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.blobs import packed
from millstream.engine.state.document import Bucket
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.parts import DeferredParts
from millstream.engine.state.store import ShardState
from millstream.model.windowing import Windowing

GROUPING = sharded(Windowing(ms.fixed(1e-5)), ["key"], [Aggregated("n", ms.count())])


class Waiting:
    """The parts of the window from 0 to 10."""

    def __init__(self):
        self.store, self.bucket = InMemoryStore(), Bucket((0, 10))
        state = ShardState(self.store).of("n")
        self.parts = DeferredParts(GROUPING.deferral, GROUPING.bucket, state)

    def add(self, *keys):
        rows = pl.DataFrame(
            {"key": keys, "time": 1, "sign": 1}, schema_overrides={"time": pl.Int64}
        )
        self.parts.add(self.bucket, Arrival(packed(rows), rows.height, (0, 10)))


def test_a_batch_waits_until_its_window_ends_and_holds_the_watermark_there():
    waiting = Waiting()
    waiting.add("a", "b")
    assert (waiting.bucket.wakes, waiting.bucket.holds) == (10, 9)
    assert waiting.bucket.all_rows == 2
    assert list(waiting.store) == ["n/0:10/rows+0"]


def test_many_small_parts_become_one():
    waiting = Waiting()
    with patch.object(parts, "MOST_PARTS", 4):
        for _ in range(4):
            waiting.add("a")
    assert list(waiting.store) == ["n/0:10/rows+0"]
    (part,) = waiting.parts.of(waiting.bucket)
    assert row_count(part.rows) == 4


def test_at_the_end_each_key_has_one_pane_and_nothing_is_left():
    waiting = Waiting()
    waiting.add("a", "b")
    waiting.add("a")
    panes = pl.concat(waiting.parts.final(waiting.bucket, []))
    assert sorted(panes.select("key", "n").rows()) == [("a", 2), ("b", 1)]
    waiting.parts.remove(waiting.bucket)
    assert not waiting.store
    assert not waiting.bucket.lanes
