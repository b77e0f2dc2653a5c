"""The Structured Streaming query whose micro-batches are the batches of a program."""

from __future__ import annotations

import shutil
import tempfile
import threading
import time as clock
from collections.abc import Callable
from typing import Any

from pyspark import SparkContext
from pyspark.sql import SparkSession

from millstream.spark.compat.moved import reach

_FOREVER = 10**9

_INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling a batch:"
    " java.lang.InterruptedException"
)
"""How Spark knows that a function in Python ended because the query was stopped.

It searches the text of the error with a regular expression, for which a full stack trace is too
long.
"""


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
        context: SparkContext,
        zero: int,
        interval: int,
        run: Callable[[int], None],
        location: str | None,
    ) -> None:
        self._zero = zero
        self._interval = interval
        self._run = run
        self._sleep = getattr(reach(context, "_jvm"), "java.lang.Thread").sleep
        self._scratch = None if location else tempfile.mkdtemp(prefix="millstream-dstream-")
        self._location = location or f"file://{self._scratch}"
        self._spark = SparkSession.builder.getOrCreate()
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
        self._query = writer.foreachBatch(self._batch).start()

    def _batch(self, _: Any, number: int) -> None:
        self._thread = threading.current_thread()
        time = self._zero + (number + 1) * self._interval
        try:
            self._wait(time)
            self._run(time)
        except Exception:
            if not self._stopping:
                raise
            raise InterruptedError(_INTERRUPTED) from None

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
