"""State in memory: a store of blobs, and an operator whose whole state is one bucket of tables."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl

from millstream.engine.operator import Advance, Operator, Outputs, Tables
from millstream.model.instants import START_OF_TIME


class InMemoryStore(dict[str, bytes]):
    """Blobs in a dict: for a batch query, which has no next batch, and for tests."""

    def read(self, name: str) -> bytes | None:
        return self.get(name)

    def write(self, name: str, blob: bytes) -> None:
        self[name] = blob

    def remove(self, name: str) -> None:
        del self[name]


class WholeOperator:
    """Runs an operator without shards and buckets: for replays in one process."""

    def __init__(self, operator: Operator) -> None:
        self.operator = operator
        self.output_watermark = START_OF_TIME
        self._tables: Tables = {}
        self._watermark = START_OF_TIME
        self._now = 0

    def step(self, batches: Mapping[str, pl.DataFrame], watermark: int, now: int) -> Outputs:
        """What a step emits."""
        advance = Advance(
            self._watermark, max(watermark, self._watermark), self._now, max(now, self._now)
        )
        stepped = self.operator.step(self._tables, batches, advance)
        self._tables, self._watermark, self._now = stepped.tables, advance.watermark, advance.now
        holds = [facts.holds for facts in stepped.facts.values() if facts.holds is not None]
        self.output_watermark = max(self.output_watermark, min([advance.watermark, *holds]))
        return stepped.outputs
