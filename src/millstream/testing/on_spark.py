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
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.engine.blobs import packed, unpacked
from millstream.engine.tables import Output
from millstream.model.instants import START_OF_TIME
from millstream.model.windowing import Windowing
from millstream.reference.aggregates import Column
from millstream.spark.session import local_session
from millstream.spark.step import INPUT, OUTPUT, Step
from millstream.testing.on_columns import ColumnarGroups

SHARDS = 2


class SparkGroups(ColumnarGroups):
    """A grouping in a query of its own: each step is a file, and each file a micro-batch."""

    def __init__(
        self, windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
    ) -> None:
        super().__init__(windowing, columns, takes_retractions)
        self._folder = Path(tempfile.mkdtemp(prefix="millstream-replay-"))
        self._input = self._folder / "input"
        self._input.mkdir()
        self._numbers = count()
        self._made: list[Row] = []
        self._output_watermark = START_OF_TIME
        files = replay_session().readStream.schema(INPUT).option("maxFilesPerTrigger", 1)
        steps = files.parquet(str(self._input)).groupBy("shard")
        panes = steps.transformWithState(Step(self.grouping), OUTPUT, "append", "none")
        writer = panes.writeStream.outputMode("append").foreachBatch(self._collect)
        checkpoint = str(self._folder / "checkpoint")
        self._query = writer.option("checkpointLocation", checkpoint).start()

    def _collect(self, batch: DataFrame, number: int) -> None:
        self._made += batch.collect()

    def _step(self, batch: pl.DataFrame | None, watermark: int, now: int) -> Output:
        self._made.clear()
        self._put(batch, watermark, now)
        self._query.processAllAvailable()
        told = [row.watermark for row in self._made if row.kind == "watermark"]
        self._output_watermark = min(told)
        return Output(panes=self._tables("pane"), late=self._tables("late"))

    def _put(self, batch: pl.DataFrame | None, watermark: int, now: int) -> None:
        """Writes the step's file: for each shard its part of the batch, watermark and clock."""
        parts = [_part(batch, shard) for shard in range(SHARDS)]
        table = pl.DataFrame(
            {
                "shard": pl.Series(range(SHARDS), dtype=pl.Int32),
                "batch": pl.Series(parts, dtype=pl.Binary),
                "watermark": pl.Series([watermark] * SHARDS, dtype=pl.Int64),
                "now": pl.Series([now] * SHARDS, dtype=pl.Int64),
            }
        )
        number = next(self._numbers)
        hidden = self._input / f".{number}.parquet"
        table.write_parquet(hidden)
        os.replace(hidden, self._input / f"{number}.parquet")

    def _tables(self, kind: str) -> list[pl.DataFrame]:
        return [unpacked(bytes(row.payload)) for row in self._made if row.kind == kind]

    def advance_output_watermark(self) -> int:
        """How far time has come for whoever reads the panes: as far as for the slowest shard."""
        return self._output_watermark

    def close(self) -> None:
        """Stops the query and removes its files."""
        self._query.stop()
        shutil.rmtree(self._folder, ignore_errors=True)


def _part(batch: pl.DataFrame | None, shard: int) -> bytes | None:
    if batch is None:
        return None
    mine = batch.filter(pl.col("key") % SHARDS == shard)
    return packed(mine) if mine.height else None


@cache
def replay_session() -> SparkSession:
    """The session that all replays of this process share."""
    session = local_session("millstream-replay")
    session.sparkContext.setLogLevel("ERROR")
    return session
