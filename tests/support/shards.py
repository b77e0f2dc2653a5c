"""Groupings whose state stands in shards, as on Spark, with stores in memory: engines of tests."""

from __future__ import annotations

import polars as pl

from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.operator import sharded
from millstream.engine.operator import LATE, Outputs
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.reference.elements import Element, Late
from millstream.testing.on_columns import ColumnarGroups

SHARDS = 2


class ShardGroups(ColumnarGroups):
    """Two shards, each made anew from its store for every step; batches come in two parts."""

    keeps_late = True

    def __init__(self, windowing, columns, takes_retractions):
        super().__init__(windowing, columns, takes_retractions)
        self.sharded = sharded(
            windowing, ["key"], self._aggregated, takes_retractions, self.keeps_late
        )
        self.stores = [InMemoryStore() for _ in range(SHARDS)]
        self.documents = [None] * SHARDS

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
        outputs, self.output_watermarks = Outputs(list), []
        for i, mine in enumerate(arrivals):
            state = ShardState(self.stores[i], self.documents[i])
            one = Shard(self.sharded, state.of("grouping"))
            for tag, tables in one.step(mine, watermark, now).items():
                outputs[tag] += tables
            self.output_watermarks.append(one.clocks.output_watermark)
            self.documents[i] = state.document.to_json()
        return outputs

    def advance_output_watermark(self):
        return min(self.output_watermarks)


class CombiningGroups(ShardGroups):
    """Elements are combined before they come to a shard: those that are late only count."""

    keeps_late = False

    def _step(self, batch, watermark, now):
        outputs = super()._step(batch, watermark, now)
        outputs[LATE] = [_one_for_each(table) for table in outputs[LATE]]
        return outputs

    def _late(self, row, keyed):
        return Late(None, Element({"value": None}, 0), None, row["late"])


def _one_for_each(late):
    if "new" not in late.columns:
        return late
    return late[late.select(pl.int_range(pl.len()).repeat_by("new").explode()).to_series()]
