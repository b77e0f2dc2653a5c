"""The operators of a stage as a stateful operator of Spark: one call for each shard and batch.

Before the first batch Spark makes this operator in a process of its own, only to learn of its
state. So that this takes no longer than it must, the stage travels as bytes, and nothing is
imported here that only a worker needs.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from functools import lru_cache
from typing import TYPE_CHECKING, Any

from pyspark.sql import Row
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle
from pyspark.sql.types import BinaryType, StringType, StructField, StructType

from millstream.spark.compat.state_client import leave_open
from millstream.system.garbage import collect_rarely

if TYPE_CHECKING:
    from millstream.engine.state.store import ShardState
    from millstream.spark.worker.envelopes import Envelope
    from millstream.spark.worker.stateful_stage import Stage

DOCUMENT = "document"  # the names of tables have an operator's name and a slash before them

# Not as text, which every task would ask the JVM to parse, four times.
NAME = StructType([StructField("name", StringType())])
BLOB = StructType([StructField("blob", BinaryType())])


class Step(StatefulProcessor):
    """Reads what it needs of a shard's state, runs the engine, and writes back what changed."""

    def __init__(self, stage: Stage, clock: bool) -> None:
        from millstream.spark.worker.pickling import pickled

        self._packed = pickled(stage)
        self.clock = clock

    @property
    def stage(self) -> Stage:
        """What runs, once it is to run."""
        return unpacked(self._packed)

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Names the state: all of it is one variable, since Spark analyzes each in every task."""
        self._handle = handle
        self._tables = SparkStore(handle.getMapState("tables", NAME, BLOB))

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """One micro-batch of one shard."""
        from millstream.spark.worker.envelopes import Envelope

        return self._run(key[0], [Envelope(*row) for row in rows], timerValues, woken=False)

    def handleExpiredTimer(  # noqa: N802
        self,
        key: Any,
        timerValues: Any,  # noqa: N803
        expiredTimerInfo: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """A micro-batch that brought nothing, but the time for something has come."""
        return self._run(key[0], [], timerValues, woken=True)

    def close(self) -> None:
        """Leaves it to Spark to end the talk about state; what was imported for it, is kept."""
        leave_open(self._handle)
        collect_rarely()

    def _run(
        self, label: int, envelopes: Iterable[Envelope], timer: Any, woken: bool
    ) -> Iterator[Row]:
        from millstream.engine.state.store import ShardState
        from millstream.spark.worker.envelopes import NAMES

        state = ShardState(self._tables, self._tables.read(DOCUMENT))
        if woken:
            state.document.timer = None  # Spark forgets a timer that has expired
        clock = max(0, timer.getCurrentProcessingTimeInMs()) * 1000 if self.clock else None
        now = self.stage.clock if clock is None else clock
        for made in self.stage.run(label, envelopes, state, now):
            yield Row(**{name: getattr(made, name) for name in NAMES})
        if self.clock:
            self._set_timer(state, now)
        self._tables.write(DOCUMENT, state.document.to_json())

    def _set_timer(self, state: ShardState, now: int) -> None:
        wakes = self.stage.wakes(state, now)
        # Spark's clock has milliseconds: the next one is late enough.
        timer = None if wakes is None else max(wakes, now + 1) // 1000 + 1
        known = state.document.timer
        if known is not None and known != timer:
            self._handle.deleteTimer(known)
        if timer is not None and known != timer:
            self._handle.registerTimer(timer)
        state.document.timer = timer


@lru_cache(maxsize=64)
def unpacked(stage: bytes) -> Stage:
    """A worker makes a stage ready once, not for each batch."""
    made: Stage = pickle.loads(stage)
    return made


class SparkStore:
    """Spark's state as a store of blobs."""

    def __init__(self, state: Any) -> None:
        self._state = state

    def read(self, name: str) -> bytes | None:
        found = self._state.getValue((name,))
        return None if found is None else bytes(found[0])

    def write(self, name: str, blob: bytes) -> None:
        self._state.updateValue((name,), (blob,))

    def remove(self, name: str) -> None:
        self._state.removeKey((name,))
