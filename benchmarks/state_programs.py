"""Programs with state of each key, as Millstream runs them and as Spark does."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import polars as pl
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.stateful_processor import StatefulProcessor, StatefulProcessorHandle

import millstream as ms
from benchmarks.join_programs import joined, native_join
from benchmarks.millstream_program import RunningJob
from benchmarks.spec import COUNTED, DELAY_SECONDS, FILES, JOINS, SCHEMA, Spec

WITHIN = "1h"
"""How long an id counts as a duplicate: longer than all of the input."""


def state_program(spec: Spec) -> Callable[[Spec, SparkSession], MillstreamState | NativeState]:
    """What runs the program of a spec."""
    return MillstreamState if spec.engine == "millstream" else NativeState


class Counter(ms.Processor):
    """Numbers the rows of each key."""

    class state:  # noqa: N801, D106 - as users write it
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += 1
        out.emit(key=row["key"], n=state.n)


class CounterOfColumns(Counter):
    """The same for many keys at once."""

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """Numbers the rows of all keys."""
        before = state["n"].gather(rows["_slot"])
        rows = rows.with_columns(n=before + pl.int_range(1, pl.len() + 1).over("_slot"))
        out.emit(rows)
        return rows.group_by("_slot").agg(pl.last("n"))


class MillstreamState(RunningJob):
    """A program of Millstream, from files to files."""

    def __init__(self, spec: Spec, spark: SparkSession) -> None:
        if spec.program in JOINS:
            results = joined(_rows(spec, "left"), _rows(spec, "right"), spec)
        else:
            results = _made(_rows(spec), spec)
        written = results.write_files(spec.output, options={"compression": "snappy"})
        self.job = written.run("bench", checkpoint=spec.checkpoint, spark=spark)


def _rows(spec: Spec, name: str = "rows") -> ms.Stream:
    return ms.read_files(
        f"{spec.input}/*",
        schema=SCHEMA,
        event_time="ts",
        watermark=ms.bounded(DELAY_SECONDS),
        max_files_per_batch=FILES,
        name=name,
    )


def _made(rows: ms.Stream, spec: Spec) -> ms.Stream:
    keyed = rows.key_by("key")
    match spec.program:
        case "process":
            return keyed.process(Counter, schema="key bigint, n bigint")
        case "process_columns":
            return keyed.process(CounterOfColumns, schema="key bigint, n bigint")
        case "deduplicate":
            return rows.deduplicate("key", within=WITHIN).select("key", n="1")
        case "count_windows":
            counted = keyed.window(ms.count_window(COUNTED)).aggregate(n=ms.count())
            return counted.select("key", "n")
    raise ValueError(f"no program {spec.program!r}")


class CountRows(StatefulProcessor):
    """The same counter for Spark."""

    def init(self, handle: StatefulProcessorHandle) -> None:
        """Names its state."""
        self._count = handle.getValueState("count", "n bigint")

    def handleInputRows(  # noqa: N802 - Spark's name
        self,
        key: Any,
        rows: Iterator[Row],
        timerValues: Any,  # noqa: N803
    ) -> Iterator[Row]:
        """Numbers the rows of a key."""
        found = self._count.get() if self._count.exists() else None
        n = 0 if found is None else found[0]
        for _ in rows:
            n += 1
            yield Row(key=key[0], n=n)
        self._count.update((n,))

    def close(self) -> None:
        """Nothing is open."""


class NativeState:
    """A program of Spark's own, from files to files, with RocksDB."""

    def __init__(self, spec: Spec, spark: SparkSession) -> None:
        store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
        spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
        files = spark.readStream.schema(SCHEMA).option("maxFilesPerTrigger", FILES)
        if spec.program in JOINS:
            left, right = (files.parquet(f"{spec.input}/*") for _ in range(2))
            results = native_join(left, right, spec)
        else:
            results = _native(files.parquet(f"{spec.input}/*"), spec)
        writer = results.writeStream.option("checkpointLocation", spec.checkpoint)
        self.query = writer.outputMode("append").format("parquet").start(spec.output)

    def stop(self) -> dict[str, Any]:
        """Ends the query."""
        self.query.stop()
        return {"late": 0, "rejected": 0}


def _native(rows: DataFrame, spec: Spec) -> DataFrame:
    match spec.program:
        case "process":
            return rows.groupBy("key").transformWithState(
                CountRows(), "key bigint, n bigint", "append", "none"
            )
        case "deduplicate":
            delayed = rows.withWatermark("ts", "1 hour")
            return delayed.dropDuplicatesWithinWatermark(["key"]).selectExpr("key", "1 AS n")
    raise ValueError(f"no program {spec.program!r}")
