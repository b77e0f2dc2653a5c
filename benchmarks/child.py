"""A contender's process: creates a Spark session, then runs the parent's commands, line by line.

Commands on stdin: ``start``, ``batch``, ``idle <n>``, ``stop``. The answer to each is one line of
JSON on stdout. All other output, also Spark's, goes to stderr.
"""

from __future__ import annotations

import json
import os
import platform
import sys
import threading
import time
from collections.abc import Callable
from datetime import datetime
from typing import Any, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from benchmarks.spec import Spec
from millstream.spark.driver.session import local_session

PARTITIONS = 2


class Program(Protocol):
    """A program that runs as a query."""

    @property
    def query(self) -> StreamingQuery:
        """The query."""

    def stop(self) -> dict[str, Any]:
        """Ends the query; returns other counts."""


def program_of(spec: Spec) -> Callable[[Spec, SparkSession], Program]:
    """Imports only what runs: other imports would count as memory."""
    if spec.program != "windows":
        from benchmarks.state_programs import state_program

        return state_program(spec)
    if spec.engine == "millstream":
        from benchmarks.millstream_program import MillstreamProgram

        return MillstreamProgram
    from benchmarks.native_program import NativeProgram

    return NativeProgram


def session_for(spec: Spec) -> SparkSession:
    """Millstream's session, for all contenders."""
    spark = local_session("bench", PARTITIONS)
    spark.sparkContext.setLogLevel("ERROR")
    # Contenders take turns. A contender that waits looks for files once a second, and
    # postpones the maintenance of its state store, which would run in the turn of another.
    if not spec.live:
        spark.conf.set("spark.sql.streaming.pollingDelay", "1s")
    spark.conf.set("spark.sql.streaming.stateStore.maintenanceInterval", "1h")
    spark.conf.set("spark.sql.streaming.numRecentProgressUpdates", "5000")
    # Otherwise RocksDB looks up each key before it is written, only to count rows; Spark's guide
    # recommends to switch that off for speed.
    spark.conf.set("spark.sql.streaming.stateStore.rocksdb.trackTotalNumberOfRows", "false")
    # With continuous input, Spark removes old windows in the next batch with data, not in one
    # without. Here it waits for its turn, and would otherwise run one more batch.
    spark.conf.set("spark.sql.streaming.noDataMicroBatches.enabled", str(spec.idles).lower())
    return spark


class Child:
    """The program, and how much of its progress the parent has received."""

    def __init__(self, spec: Spec) -> None:
        self.spec = spec
        self.spark = session_for(spec)
        self._program = program_of(spec)
        self.program: Program
        self._reported = 0

    def start(self) -> dict[str, Any]:
        """Starts the program over a first batch; returns how long it took until its end."""
        began = time.time()
        self.program = self._program(self.spec, self.spark)
        ended = self.batch()
        first = ended["batches"][0]
        began_first = datetime.fromisoformat(first["timestamp"]).timestamp()
        return {**ended, "seconds": began_first + _seconds(first) - began}

    def batch(self) -> dict[str, Any]:
        """Waits until all input is processed."""
        before = self._reported
        if self.spec.idles and self.spec.engine == "millstream":
            # There is always another batch, so Spark never reports that everything is processed.
            self._wait(lambda news: any(each["numInputRows"] for each in news))
        else:
            self.program.query.processAllAvailable()
        news = self._news(before)
        self._reported += len(news)
        return {"batches": news, "registry": _registry_seconds()}

    def idle(self, count: int) -> dict[str, Any]:
        """Waits until so many batches had nothing to read."""
        before = self._reported
        self._wait(lambda news: len(news) >= count)
        news = self._news(before)
        self._reported += len(news)
        return {"batches": news}

    def stop(self) -> dict[str, Any]:
        """Ends the query."""
        return self.program.stop()

    def _news(self, before: int) -> list[dict[str, Any]]:
        reports = [json.loads(each.json) for each in self.program.query.recentProgress]
        # Spark also reports sometimes that it found no files.
        batches = [each for each in reports if "addBatch" in each["durationMs"]]
        return batches[before:]

    def _wait(self, enough: Callable[[list[dict[str, Any]]], bool]) -> None:
        while not enough(self._news(self._reported)):
            if not self.program.query.isActive:
                self.program.query.awaitTermination()  # raises what ended it
                raise RuntimeError("the query ended")
            time.sleep(0.5)  # polling takes time from the query


def _registry_seconds() -> float:
    """The processor time of the thread that writes the registry; 0 if there is none."""
    clocks = [
        time.pthread_getcpuclockid(each.ident)
        for each in threading.enumerate()
        if each.name.startswith("millstream-registry") and each.ident is not None
    ]
    return sum(map(time.clock_gettime, clocks))


def _seconds(progress: dict[str, Any]) -> float:
    return float(progress["durationMs"]["triggerExecution"]) / 1000


def versions(spark: SparkSession) -> dict[str, str]:
    """What runs here."""
    system = spark.sparkContext._jvm.java.lang.System  # type: ignore[union-attr]
    return {
        "Spark": spark.version,
        "Java": str(system.getProperty("java.version")),
        "Python": platform.python_version(),
    }


def main() -> None:
    answers = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)

    def answer(values: dict[str, Any]) -> None:
        print(json.dumps(values), file=answers, flush=True)

    child = Child(Spec.from_json(sys.argv[1]))
    answer(versions(child.spark))
    for line in sys.stdin:
        asked, *arguments = line.split()
        answer(getattr(child, asked)(*map(int, arguments)))
    # The parent has closed the pipe, or has ended. Everything here ends with this process.
    os._exit(0)


if __name__ == "__main__":
    main()
