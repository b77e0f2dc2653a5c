"""Groupings whose state stands in shards, as on Spark, with stores in memory: engines of tests."""

from __future__ import annotations

import polars as pl

from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.operator import sharded
from millstream.engine.operator import LATE, Outputs
from millstream.engine.state.document import Document
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.resharding import assemble, common_clocks, cut_shard
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
        self.shards = SHARDS
        self.stores = [InMemoryStore() for _ in range(SHARDS)]
        self.documents = [None] * SHARDS

    def _step(self, batch, watermark, now):
        scatters = [Scatter(self.sharded, ["key"], self.shards) for _ in range(2)]
        arrivals = [[] for _ in range(self.shards)]
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


class RescaledGroups(ShardGroups):
    """As many shards as never before, after each step."""

    def _step(self, batch, watermark, now):
        outputs = super()._step(batch, watermark, now)
        shards = self.shards % 5 + 2 if self.shards % 5 else 1
        documents = [Document.from_json(each) for each in self.documents]
        states = rescaled(documents, self.stores, shards)
        self.shards, self.stores = shards, [state.blobs for state in states]
        self.documents = [state.document.to_json() for state in states]
        return outputs


def rescaled(documents, stores, shards):
    """The state of shards, redistributed over so many others."""
    common = common_clocks(documents)
    states = [ShardState(InMemoryStore(), common.to_json()) for _ in range(shards)]
    pieces = [[] for _ in range(shards)]
    for number, (document, store) in enumerate(zip(documents, stores, strict=True)):
        for to, piece in cut_shard(document, store, number, len(documents), shards):
            pieces[to].append(piece)
    for state, mine in zip(states, pieces, strict=True):
        assemble(mine, state)
    return states


def _one_for_each(late):
    if "new" not in late.columns:
        return late
    return late[late.select(pl.int_range(pl.len()).repeat_by("new").explode()).to_series()]
