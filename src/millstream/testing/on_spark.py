"""Drives the engine inside a real Structured Streaming query, a micro-batch for each step."""

from __future__ import annotations

import os
import shutil
import tempfile
from collections.abc import Sequence
from functools import cache
from itertools import count
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.engine.operator import LATE, ROWS, Outputs
from millstream.engine.state.blobs import unpacked
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.model.watermarks import Silence
from millstream.model.windowing import Windowing
from millstream.physical.operators.grouping import GroupingSpec
from millstream.reference.aggregates import Column
from millstream.spark.driver.session import is_remote, local_session
from millstream.spark.worker.envelopes import ENVELOPE, Envelope, batches_of
from millstream.spark.worker.processor import Step
from millstream.spark.worker.stateful_stage import Stage
from millstream.testing.on_columns import ColumnarGroups

SHARDS = 2


class SparkGroups(ColumnarGroups):
    """A grouping in its own query: each step is a file, and each file a micro-batch."""

    def __init__(
        self, windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
    ) -> None:
        super().__init__(windowing, columns, takes_retractions)
        self._spec = GroupingSpec(
            name="grouping",
            windowing=windowing,
            keys=("key",),
            aggregates=tuple(
                (f"result{i}", c.aggregate, True, True) for i, c in enumerate(columns)
            ),
            takes_retractions=takes_retractions,
            tags=frozenset({LATE}),
            feeds_operators=True,
            origins={"steps": Silence()},
        )
        # In the engine on Spark, columns have names that no user's column can have.
        self._names = {"key": "key 0"}
        for i in range(len(columns)):
            self._names |= {f"of{i}": f"of {i}", f"by{i}": f"by {i}", f"result{i}": f"value {i}"}
        self._folder = Path(tempfile.mkdtemp(prefix="millstream-replay-"))
        self._input = self._folder / "input"
        self._input.mkdir()
        self._numbers = count()
        self._made: list[Row] = []
        self._output_watermark = START_OF_TIME
        files = replay_session().readStream.schema(ENVELOPE).option("maxFilesPerTrigger", 1)
        stage = Stage([self._spec], list(range(SHARDS)), frozenset())
        steps = files.parquet(str(self._input)).groupBy("shard")
        panes = steps.transformWithState(Step(stage, clock=False), ENVELOPE, "append", "none")
        writer = panes.writeStream.outputMode("append").foreachBatch(self._collect)
        checkpoint = str(self._folder / "checkpoint")
        self._query = writer.option("checkpointLocation", checkpoint).start()

    def _collect(self, batch: DataFrame, number: int) -> None:
        self._made += batch.collect()

    def _step(self, batch: pl.DataFrame | None, watermark: int, now: int) -> Outputs:
        self._made.clear()
        self._put(batch, watermark, now)
        self._query.processAllAvailable()
        marks = {row.split: row.value for row in self._made if row.kind == "mark"}
        self._output_watermark = min(marks.values())
        return Outputs(list, {ROWS: self._tables(ROWS), LATE: self._tables(LATE)})

    def _put(self, batch: pl.DataFrame | None, watermark: int, now: int) -> None:
        """Writes the step's file: for each shard its part of the batch, watermark and clock."""
        envelopes = []
        for shard in range(SHARDS):
            envelopes.append(Envelope(shard, "steps", "mark", split="", value=watermark))
            envelopes.append(Envelope(shard, "steps", "clock", value=now))
        if batch is not None:
            exchange = self._spec.exchange(ROWS, SHARDS)
            given = batch.rename({n: e for n, e in self._names.items() if n in batch.columns})
            for shard, arrival in [*exchange.take(given), *exchange.rest()]:
                start, end = arrival.bucket or (None, None)
                envelopes.append(Envelope(shard, "grouping", "arrival", start, end, arrival.rows))
                envelopes[-1].payload = arrival.blob
        (table,) = batches_of(envelopes)
        number = next(self._numbers)
        hidden = self._input / f".{number}.parquet"
        with pq.ParquetWriter(hidden, table.schema) as writer:
            writer.write_batch(table)
        os.replace(hidden, self._input / f"{number}.parquet")

    def _tables(self, tag: str) -> list[pl.DataFrame]:
        back = {engine: name for name, engine in self._names.items()}
        tables = [unpacked(bytes(row.payload)) for row in self._made if row.port == tag]
        return [t.rename({e: n for e, n in back.items() if e in t.columns}) for t in tables]

    def advance_output_watermark(self) -> int:
        """The watermark for readers of the panes: that of the slowest shard."""
        return self._output_watermark

    def close(self) -> None:
        """Stops the query and removes its files."""
        self._query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


@cache
def replay_session() -> SparkSession:
    """The session that all replays of this process share."""
    session = local_session("millstream-replay", partitions=2, short=True)
    if is_remote(session):
        raise RunError(
            "MS206",
            "replay(engine='spark') needs a Spark of its own, and this program has a session of "
            "Spark Connect",
            fix="replay in a program that has none",
        )
    session.sparkContext.setLogLevel("ERROR")
    return session
