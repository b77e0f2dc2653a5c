"""The Structured Streaming query whose micro-batches are the batches of a program."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time as clock
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import RDD, SparkContext
from pyspark.sql import DataFrame, SparkSession

from millstream.spark.compat import checkpoint_files, stopped_batch
from millstream.spark.compat.moved import reach

_FOREVER = 10**9


def session_of(context: SparkContext) -> SparkSession:
    """The session of a SparkContext.

    To make the first one takes seconds, so this comes before the first batch time is set.
    """
    jvm = reach(context, "_jvm")
    stopped_batch.check(jvm)
    checkpoint_files.check(jvm)
    return SparkSession.builder.getOrCreate()


class Query:
    """One micro-batch for each interval, in order and without gaps.

    The source emits one row for each micro-batch, at once; a batch waits for its time within
    ``foreachBatch``. So a batch runs at its time although nothing arrived, all that Spark does
    between batches is done before that time, and batches that are late, or were missed while the
    program did not run, follow each other without a pause. The number of a micro-batch gives the
    time of the batch: the first is an interval after ``zero``.
    """

    def __init__(
        self,
        spark: SparkSession,
        zero: int,
        interval: int,
        run: Callable[[int], None],
        location: str | None,
    ) -> None:
        self._zero = zero
        self._interval = interval
        self._run = run
        self._sleep = getattr(reach(spark.sparkContext, "_jvm"), "java.lang.Thread").sleep
        self._scratch = None if location else tempfile.mkdtemp(prefix="millstream-dstream-")
        self._location = location or f"file://{self._scratch}"
        self._spark = spark
        self._last: int | None = None
        self._drained = threading.Event()
        self._stopping = False
        self._query: Any = None
        self._thread: threading.Thread | None = None

    def start(self) -> None:
        """Starts the query."""
        ticks = self._spark.readStream.format("rate-micro-batch").options(
            rowsPerBatch=1,
            numPartitions=1,
            startTimestamp=self._zero,
            advanceMillisPerBatch=self._interval,
        )
        writer = ticks.load().writeStream.option("checkpointLocation", self._location)
        with self._settings():
            self._query = writer.foreachBatch(self._batch).start()

    @contextmanager
    def _settings(self) -> Iterator[None]:
        """What the query, which copies its session, needs, and the session has only meanwhile."""
        conf, key = self._spark.conf, "spark.sql.streaming.checkpointFileManagerClass"
        change = self._location.startswith("file:") and conf.get(key, None) is None
        if change:
            conf.set(key, checkpoint_files.FILE_MANAGER)
        try:
            yield
        finally:
            if change:
                conf.unset(key)

    def _batch(self, _: Any, number: int) -> None:
        self._thread = threading.current_thread()
        self._make_data_frames_here()
        time = self._zero + (number + 1) * self._interval
        try:
            self._wait(time)
            self._run(time)
        except Exception:
            if not self._stopping:
                raise
            raise InterruptedError(stopped_batch.INTERRUPTED) from None

    def _make_data_frames_here(self) -> None:
        """Makes ``RDD.toDF`` give DataFrames of the program's session.

        Before each batch, PySpark makes it give those of the query's copy of the session, where
        views of the program's session are not found. What it was when the query started is no
        better: it may be of the copy of another query.
        """

        def to_df(rdd: RDD[Any], schema: Any = None, sampleRatio: float | None = None) -> DataFrame:
            return self._spark.createDataFrame(rdd, schema, sampleRatio)

        RDD.toDF = to_df  # type: ignore[method-assign, assignment]

    def _wait(self, time: int) -> None:
        """Waits in the JVM, in the query's own thread: there, stopping the query interrupts it."""
        if self._last is not None and time > self._last:
            self._drained.set()
            self._sleep(_FOREVER)
        early = time - clock.time() * 1000
        if early > 0:
            self._sleep(int(early) + 1)

    def is_own_thread(self) -> bool:
        """Whether the caller is in the middle of a batch."""
        return threading.current_thread() is self._thread

    def is_active(self) -> bool:
        return bool(self._query.isActive)

    def failure(self) -> Exception | None:
        """What ended the query, if it was not stopped."""
        error: Exception | None = self._query.exception()
        return error

    def drain(self) -> None:
        """Waits until the batch in which everything is that has arrived by now is complete."""
        now = int(clock.time() * 1000)
        self._last = now - (now - self._zero) % self._interval + self._interval
        while self.is_active() and not self._drained.wait(0.1):
            pass

    def stop(self) -> None:
        """Ends the query, in the middle of a batch if one runs."""
        self._stopping = True
        if self._query is not None:
            self._query.stop()
        if self._scratch is not None:
            shutil.rmtree(self._scratch, ignore_errors=True)
