"""A grouping as a stateful operator of Spark: one call for each shard of keys and micro-batch."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.engine.blobs import clocks_of, packed, state_of, tables_of, unpacked
from millstream.engine.grouping import Grouping
from millstream.engine.tables import Output, concatenated
from millstream.model.instants import START_OF_TIME

INPUT = "shard int, batch binary, watermark bigint, now bigint"
"""What a step reads: parts of a shard's batch, how far time has come, and the clock."""

OUTPUT = "shard int, kind string, part int, payload binary, watermark bigint"
"""What it writes: tables of panes and of late rows, and how far time has come downstream."""


class Step(StatefulProcessor):
    """Reads a shard's state, runs the engine, and writes back what changed."""

    def __init__(self, grouping: Grouping) -> None:
        self.grouping = grouping

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Names the state: how far time has come, and the tables."""
        self._clocks = handle.getValueState("clocks", "json string")
        self._tables = handle.getMapState("tables", "name string", "blob binary")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """One micro-batch of one shard."""
        given = list(rows)
        batch = concatenated(*(unpacked(bytes(r.batch)) for r in given if r.batch is not None))
        watermark = max((r.watermark for r in given), default=START_OF_TIME)
        now = max((r.now for r in given), default=0)
        clocks = self._clocks.get()
        blobs = {name: bytes(blob) for (name,), (blob,) in self._tables.iterator()}
        state = state_of(str(clocks[0]) if clocks else None, blobs)
        state, output = self.grouping.step(state, batch, watermark, now)
        written = {name: packed(table) for name, table in tables_of(state).items()}
        for name in blobs.keys() - written.keys():
            self._tables.removeKey((name,))
        for name, blob in written.items():
            if blobs.get(name) != blob:
                self._tables.updateValue((name,), (blob,))
        self._clocks.update((clocks_of(state),))
        yield from _rows(key[0], output, state.output_watermark)

    def close(self) -> None:
        """Nothing is held open."""


def _rows(shard: int, output: Output, watermark: int) -> Iterator[Row]:
    for kind, tables in (("pane", output.panes), ("late", output.late)):
        for part, table in enumerate(tables):
            if table.height:
                yield _row(shard, kind, part, packed(table), watermark)
    yield _row(shard, "watermark", 0, None, watermark)


def _row(shard: int, kind: str, part: int, payload: bytes | None, watermark: int) -> Row:
    return Row(shard=shard, kind=kind, part=part, payload=payload, watermark=watermark)
