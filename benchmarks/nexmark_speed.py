"""``--nexmark``: events a second of the queries of Nexmark, beside Spark's own where it has one."""

from __future__ import annotations

import json
import os
import shutil
import statistics
import sys
import tempfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
from examples.nexmark.generator import AUCTION, BID, PERSON, Generator
from examples.nexmark.queries import QUERIES, Site
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from rich.console import Console
from rich.table import Table

import millstream as ms
from benchmarks.child import session_for
from benchmarks.machine import machine
from benchmarks.memory import processes
from benchmarks.nexmark_native import APPENDING, CANNOT, UPDATING, Native
from benchmarks.spec import Spec

KINDS = {"person": PERSON, "auction": AUCTION, "bid": BID}
WARM_UP = 2
"""Batches that do not count."""
END = 10_000
"""Seconds after the last event at which a last one ends windows."""
TICKS = os.sysconf("SC_CLK_TCK")


@dataclass(frozen=True)
class Measured:
    """Events a second, and a second of processor time; and the rows written, where compared."""

    per_second: float
    per_core: float
    rows: pl.DataFrame | None


@dataclass(frozen=True)
class Events:
    """Files of events, a batch each, and one to end them."""

    folder: Path
    generator: Generator
    events: int
    batches: int

    def write(self) -> None:
        """All batches, in the order in which Spark reads them."""
        self.generator.write(self.folder, self.events * self.batches, self.batches)
        last = self.events * self.batches + END * self.generator.rate
        end = self.generator.tables(last // 50 * 50, 50)
        # In windows that stay open, nobody sells: Spark emits their pairs at once.
        end["auction"] = end["auction"].with_columns(seller=pl.lit(-1, pl.Int64))
        for kind, table in end.items():
            table.write_parquet(self.folder / kind / "end.parquet")
            for number, file in enumerate(sorted((self.folder / kind).iterdir())):
                os.utime(file, (1_700_000_000 + number,) * 2)


def measure(console: Console, quick: bool, file: Path | None) -> None:
    """Runs each query, by Millstream and by Spark in turn, and prints a table."""
    names = ["q0", "q3", "q4", "q5", "q8"] if quick else list(QUERIES)
    with tempfile.TemporaryDirectory(prefix="millstream-nexmark-") as folder:
        events = Events(
            Path(folder) / "events", Generator(), *((5_000, 3) if quick else (500_000, 6))
        )
        events.write()
        spark = session_for(Spec("millstream", folder, 10, idles=True))
        found: dict[str, dict[str, Any]] = {}
        for name in names:
            console.print(f"{name} …", highlight=False)
            ours = _millstream(spark, events, name, Path(folder) / "ours")
            theirs = (
                None if name in CANNOT else _native(spark, events, name, Path(folder) / "spark")
            )
            _compare(name, ours, theirs)
            found[name] = {"millstream": ours, "spark": theirs}
        spark.stop()
    table = Table("query", "Millstream", "a core", "Spark", "a core", "ratio", show_lines=True)
    for name, each in found.items():
        table.add_row(name, *_cells(each["millstream"]), *_spark_cells(name, each))
    console.print(table)
    console.print(
        "Events of all kinds a second, and a second of processor time. In q12, q17, q18 and q19 "
        "Spark updates, and its rows go nowhere; all others write files, with the same rows."
    )
    facts = machine()
    console.print(", ".join(f"{what} {value}" for what, value in facts.items()))
    if file is not None:
        shown = {
            name: {who: m and [m.per_second, m.per_core] for who, m in each.items()}
            for name, each in found.items()
        }
        file.write_text(json.dumps({"machine": facts, "results": shown}, indent=2) + "\n")


def _millstream(spark: SparkSession, events: Events, name: str, folder: Path) -> Measured:
    streams = {
        kind: ms.read_files(
            events.folder / kind, "parquet", schema, "dateTime", ms.ascending(),
            max_files_per_batch=1, name=kind,
        )
        for kind, schema in KINDS.items()
    }  # fmt: skip
    longest = f"{events.generator.longest_auction}ms"
    results = QUERIES[name](Site(**streams, longest=longest))
    written = results.write_files(folder / "rows")
    began = _processor_seconds()
    job = written.run(f"nexmark-{name}", checkpoint=folder / "state", spark=spark)
    job.process_all()
    assert job._stream is not None
    return _measured(job._stream.query, job.stop, began, events, folder)


def _native(spark: SparkSession, events: Events, name: str, folder: Path) -> Measured:
    frames = {
        kind: spark.readStream.schema(schema)
        .option("maxFilesPerTrigger", 1)
        .parquet(str(events.folder / kind))
        .withWatermark("dateTime", "0 seconds")
        for kind, schema in KINDS.items()
    }
    store = "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    spark.conf.set("spark.sql.streaming.stateStore.providerClass", store)
    updating = name in UPDATING
    results = (UPDATING if updating else APPENDING)[name](Native(**frames))
    writer = results.writeStream.option("checkpointLocation", str(folder / "state"))
    began = _processor_seconds()
    if updating:
        query = writer.outputMode("update").format("noop").start()
    else:
        query = writer.outputMode("append").format("parquet").start(str(folder / "rows"))
    query.processAllAvailable()
    return _measured(query, query.stop, began, events, folder)


def _measured(
    query: StreamingQuery, stop: Any, began: float, events: Events, folder: Path
) -> Measured:
    reports = [json.loads(each.json) for each in query.recentProgress]
    stop()
    spent = _processor_seconds() - began
    data = [r["durationMs"]["triggerExecution"] for r in reports if r["numInputRows"]]
    seconds = statistics.median(data[WARM_UP : events.batches]) / 1000
    files = sorted((folder / "rows").rglob("part-*.parquet"))
    tables = [pl.read_parquet(each, hive_partitioning=False) for each in files]
    shutil.rmtree(folder, ignore_errors=True)
    rows = pl.concat([each for each in tables if each.height]) if tables else None
    all_events = events.events * events.batches
    return Measured(events.events / seconds, all_events / spent, rows)


def _processor_seconds() -> float:
    """What all processes of this session have taken so far, with those that have ended."""
    total = 0
    for process in processes(os.getsid(0)):
        try:
            total += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
        except (OSError, ValueError):  # it has just ended
            continue
    return total / TICKS


def _compare(name: str, ours: Measured, theirs: Measured | None) -> None:
    """Ends the benchmark if both have written different rows."""
    if theirs is None or name in UPDATING or ours.rows is None or theirs.rows is None:
        return
    columns = sorted(set(ours.rows.columns) & set(theirs.rows.columns))
    one, other = (each.select(columns).sort(columns) for each in (ours.rows, theirs.rows))
    if not one.equals(other.cast(one.schema)):
        sys.exit(
            f"\nThe benchmark failed: {name} gives {ours.rows.height:,} rows by Millstream and "
            f"{theirs.rows.height:,} by Spark, or others."
        )


def _cells(measured: Measured) -> tuple[str, str]:
    return f"{measured.per_second:,.0f}", f"{measured.per_core:,.0f}"


def _spark_cells(name: str, each: dict[str, Measured | None]) -> tuple[str, str, str]:
    ours, theirs = each["millstream"], each["spark"]
    if theirs is None or ours is None:
        return CANNOT[name], "", ""
    return *_cells(theirs), f"{ours.per_second / theirs.per_second:.2f}x"
