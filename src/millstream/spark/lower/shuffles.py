"""The shuffle before a stateful stage, in a batch query and in a streaming query."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame

from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState
from millstream.spark.worker.envelopes import ENVELOPE, batches_of, envelopes_in
from millstream.spark.worker.pickling import pickled
from millstream.spark.worker.processor import Step, unpacked
from millstream.spark.worker.repair import Repair
from millstream.spark.worker.stateful_stage import Stage

Shuffle = Callable[[DataFrame, Stage], DataFrame]
"""Brings the envelopes of each shard together and runs a stateful stage over them."""


def in_one_batch(now: int) -> Shuffle:
    """Runs a stateful stage over all rows that there ever are; nothing is kept after it."""

    def shuffle(frame: DataFrame, stage: Stage) -> DataFrame:
        packed = pickled(stage)

        def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
            given = [e for batch in table.to_batches() for e in envelopes_in(batch)]
            state = ShardState(InMemoryStore())
            made = unpacked(packed).run(key[0].as_py(), given, state, now, ends=True)
            return pa.Table.from_batches(list(batches_of(made)))

        return frame.groupBy("shard").applyInArrow(run, ENVELOPE)

    return shuffle


def with_state(clock: bool, run: str, repairs: tuple[Repair, ...]) -> Shuffle:
    """Runs a stateful stage in each micro-batch, with its state in Spark.

    With a ``clock``, Spark also runs it when the time has come for something to happen.
    """
    mode = "processingtime" if clock else "none"

    def shuffle(frame: DataFrame, stage: Stage) -> DataFrame:
        step = Step(replace(stage, run_id=run, repairs=repairs), clock)
        return frame.groupBy("shard").transformWithState(step, ENVELOPE, "append", mode)

    return shuffle
