"""Writes redistributed state into new shards: a stateful operator that runs for one batch.

It has the same variable and kind of time as ``Step``, so that what Spark writes is the state of a
job's stage.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import msgspec
from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

from millstream.engine.state.resharding import Piece, assemble
from millstream.engine.state.store import ShardState
from millstream.spark.compat.state_client import leave_open
from millstream.spark.worker.processor import BLOB, DOCUMENT, NAME, SparkStore


class LoadState(StatefulProcessor):
    """Assembles each shard from its pieces; ``document`` has the clocks that all shards share."""

    def __init__(self, document: bytes, clock: bool) -> None:
        self._document = document
        self._clock = clock

    def init(self, handle: StatefulProcessorHandle) -> None:
        """The state of a stage, see ``Step``."""
        self._handle = handle
        self._tables = SparkStore(handle.getMapState("tables", NAME, BLOB))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Loads one shard. A row without a piece is only there so that each shard is loaded."""
        found = [bytes(row["piece"]) for row in rows if row["piece"] is not None]
        state = ShardState(self._tables, self._document)
        assemble((msgspec.msgpack.decode(each, type=Piece) for each in found), state)
        if self._clock:
            # After this batch, so it wakes the shard in the first batch of the resumed job.
            state.document.timer = timerValues.getCurrentProcessingTimeInMs() + 1
            self._handle.registerTimer(state.document.timer)
        self._tables.write(DOCUMENT, state.document.to_json())
        yield Row(shard=key[0])

    def close(self) -> None:
        """Leaves it to Spark to end the talk about state."""
        leave_open(self._handle)
