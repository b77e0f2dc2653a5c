"""A shard is assembled from its pieces, with a timer where time is by the clock."""

from __future__ import annotations

import msgspec
import polars as pl
import pytest
from pyspark.sql import Row

from millstream.engine.state.blobs import packed
from millstream.engine.state.document import Clocks, Document
from millstream.engine.state.resharding import Piece
from millstream.spark.worker.processor import DOCUMENT
from millstream.spark.worker.state_loading import LoadState


class Handle:
    """What Spark gives a processor: a map, and timers."""

    def __init__(self):
        self.values, self.timers = {}, []

    def getMapState(self, name, key, value):  # noqa: N802 - Spark's name
        return self

    def updateValue(self, key, value):  # noqa: N802
        self.values[key[0]] = value[0]

    def registerTimer(self, timer):  # noqa: N802
        self.timers.append(timer)


class Clock:
    def getCurrentProcessingTimeInMs(self):  # noqa: N802
        return 1000


@pytest.mark.parametrize("clock", [True, False])
def test_a_shard_is_loaded(clock):
    rows = pl.DataFrame({"key 0": ["red"], "new": [1]})
    facts = {"wakes": 10, "due": None, "holds": 9}
    place = {"source": (0, (0, 10)), "bucket": (0, 10), "shared": False, "lane": None}
    what = {"table": "panes", "arrived": None, "rows": 1, "blob": packed(rows)}
    piece = Piece(step="totals", **place, **what, **facts)
    document = Document(operators={"totals": Clocks(watermark=5)})
    processor, handle = LoadState(document.to_json(), clock), Handle()
    processor.init(handle)
    given = [Row(shard=4, piece=None), Row(shard=4, piece=msgspec.msgpack.encode(piece))]
    assert list(processor.handleInputRows((4,), iter(given), Clock())) == [Row(shard=4)]
    loaded = Document.from_json(handle.values.pop(DOCUMENT))
    (bucket,) = loaded.operators["totals"].buckets
    assert (bucket.name, bucket.rows, bucket.wakes) == ((0, 10), 1, 10)
    assert loaded.operators["totals"].watermark == 5
    assert list(handle.values) == ["totals/0:10/panes"]
    assert (loaded.timer, handle.timers) == ((1001, [1001]) if clock else (None, []))
