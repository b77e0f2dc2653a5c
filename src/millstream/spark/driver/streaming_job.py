"""A streaming job: a query that is started, followed in a thread, restarted, and ended."""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from functools import partial

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.model.errors import MillstreamError
from millstream.physical.plan import Physical
from millstream.plan.nodes import Source
from millstream.reports.outcome import Outcome, error_text, log
from millstream.sinks.kinds import sinks_of
from millstream.spark.batches.commits import Stopped
from millstream.spark.compat.remote import is_remote
from millstream.spark.connect import Remote
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.failures import recognised, spark_failure
from millstream.spark.driver.job_batches import JobBatches, StopRequest
from millstream.spark.driver.ledger import Ledger
from millstream.spark.driver.query_start import QueryStart
from millstream.spark.driver.restarts import Restarts, keeps_dying, loss_of
from millstream.spark.sources.kafka import Positions, Topics
from millstream.system.interrupts import interruptible

_STOPPED = f"{Stopped.__module__}.{Stopped.__qualname__}"  # as a traceback names it
_LOOKS = 0.1  # seconds between two looks at a query
_CALLS = 0.25  # the same where each look is a call to a server
_QUESTIONS = 1.0  # the same for calls that a server must work for


class StreamingJob:
    """A running query. What ended it, if that was an error, is its ``outcome``.

    A thread of its own follows the query and starts it again where that helps. Any thread may call
    the public methods.
    """

    def __init__(
        self,
        name: str,
        plan: Physical,
        spark: SparkSession,
        ledger: Ledger,
        checkpoint: Checkpoint,
        every: str | None,
        topics: Mapping[str, Topics],
        restarts: int,
        empty: Sequence[Source] = (),
    ) -> None:
        self.name = name
        self.outcome = Outcome(name)
        for sink in sinks_of(plan.sinks):
            sink.check_run(checkpoint.run)
        self._plan = plan
        self._ledger = ledger
        self._checkpoint = checkpoint
        self._restarts = Restarts(restarts)
        self._positions = Positions(name, topics.values())
        self._stop = StopRequest()
        self._batches = JobBatches(ledger, checkpoint, topics, empty, self._stop)
        self._remote: Remote | None = None
        if is_remote(spark):
            reads = [each for each in topics.values() if not each.source.bounded]
            self._remote = Remote(
                spark, ledger.run, plan.sinks, reads, checkpoint.folder, checkpoint.fence
            )
        self._ended = False
        self._asked = 0.0
        with recognised():
            remote = self._remote is not None
            self._start = QueryStart(name, plan, spark, checkpoint, every, topics, remote)
            self.query = self._started()
        self._thread = threading.Thread(target=self._watch, name=f"millstream-{name}", daemon=True)
        self._thread.start()

    def _started(self) -> StreamingQuery:
        """The query, from where the checkpoint is."""
        start = self._start
        if self._remote is not None:
            return start.start(self._remote.batch(start.last, start.announces_clock))
        return start.start(partial(self._batches.run, start))

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self._ledger.tracker.progress().over

    def stop(self) -> None:
        """Asks for an end after the batch under way; returns at once."""
        self._ledger.tracker.state("stopping")
        self._stop.asked.set()

    def leave(self) -> bool:
        """Ends the job at once, if it is at a server that would continue with it.

        PySpark can call the server when the program ends, but not take its answers any more. What
        the batch under way has done counts once when it is retried.
        """
        if self._remote is None:
            return False
        self.abandon()
        self._checkpoint.close()
        return True

    def abandon(self) -> None:
        """Ends the job at once; what the batch under way has done counts once when it is resumed.

        Nothing of it continues after an error of this program, or at a server after its end.
        """
        if self._ended:
            return
        self._stop.at_once = True
        self._stop.asked.set()
        self._leave_query()
        self._ended = True

    def join(self) -> None:
        """Waits for the end."""
        self._thread.join()

    def process_all(self) -> None:
        """Waits until all that the sources have now is processed, or the job has ended."""
        with self.outcome.awaited():
            while self._thread.is_alive():
                query = self.query
                try:
                    with recognised(self._plan):
                        interruptible(self._all_processed)
                except Exception:
                    # Whatever ended the query has ended the waiting, too. The thread that follows
                    # the query gets the same error, and reports it or starts the query again.
                    while self._thread.is_alive() and self.query is query:
                        self._thread.join(_LOOKS)
                else:
                    interruptible(self._settle_remote)
                    return
        self.outcome.check()  # nothing if the job was stopped

    def _all_processed(self) -> None:
        if self._start.ends or not self._start.by_clock:
            self.query.processAllAvailable()
            return
        # By the clock there is always another batch, for which Spark would wait for ever. One that
        # began after this call and has found nothing will do; the next may have begun before it.
        last = self.query.lastProgress
        after = None if last is None else last.batchId + 1
        while self.query.isActive:
            last = self.query.lastProgress
            if last is not None and after is None:
                after = last.batchId  # the first that is reported began before, perhaps
            if last is not None and last.batchId > (after or 0) and not last.numInputRows:
                return
            time.sleep(_LOOKS)
        self.query.processAllAvailable()  # raises what ended it

    def _settle_remote(self) -> None:
        if self._remote is not None:
            self._batches.settle_remote(self._remote)

    # The thread that follows the query.

    def _watch(self) -> None:
        self._ledger.tracker.state("running")
        error = self._what_ended_it()
        while error is not None and not self._stop.asked.is_set():
            loss = loss_of(error)
            if loss is None and not self._reads_new_topics(error):
                break
            if loss is not None and not self._waits_to_restart(loss):
                error = keeps_dying(loss, self._restarts.count, self._ledger.sinks)
                break
            error = None if self._stop.asked.is_set() else self._what_ended_it(again=True)
        self._ended = True
        self._report(error)
        self._close()

    def _what_ended_it(self, again: bool = False) -> BaseException | None:
        """Follows the query to its end, and returns what ended it, if that was an error."""
        try:
            with recognised(self._plan):
                if again:
                    self._checkpoint.fence.check()
                    self.query = self._started()
                while self._is_active():
                    self._checkpoint.check_owned()
                    self._settle_remote()
                    self._positions.follow(self.query, self._batches.last_settled)
                    self._keep_shards()
                    if self._stop.asked.wait(_LOOKS if self._remote is None else _CALLS):
                        self._end_query()
                self._settle_remote()
                self.query.awaitTermination()  # raises what ended it, if that was an error
                if not self._stop.asked.is_set():
                    self._checkpoint.fence.check()  # Spark ends a query whose successor it starts
        except BaseException as error:  # nothing else in this thread would report it
            if not self._stop.at_once:
                self._leave_query()
            return error
        return None

    def _reads_new_topics(self, error: BaseException) -> bool:
        """Whether the job continues with topics that were created again; at a server, not."""
        return self._remote is None and self._batches.continues_with_new_topics(error)

    def _waits_to_restart(self, loss: str) -> bool:
        """Waits for a while, or until the job is to stop; False if there were too many restarts.

        A server restarts what it has lost itself.
        """
        pause = None if self._remote is not None else self._restarts.pause()
        if pause is None:
            return False
        count = f"restart {self._restarts.count} of {self._restarts.limit} in 10 minutes"
        log.warning(
            "job %r: %s; it resumes from its checkpoint in %g s (%s)", self.name, loss, pause, count
        )
        self._ledger.tracker.restart()
        self._stop.asked.wait(pause)
        return True

    def _report(self, error: BaseException | None) -> None:
        """Reports how the job has ended."""
        tracker = self._ledger.tracker
        stopped = self._stop.asked.is_set() and (error is None or _STOPPED in str(error))
        if stopped or self._stop.at_once:
            tracker.state("stopped")
        elif error is None:
            tracker.state("finished")
        else:
            error = spark_failure(self._checkpoint.cause_of(error))
            self.outcome.fail(error)
            tracker.fail(error_text(error))

    def _close(self) -> None:
        # What these raise depends on what is gone: the JVM, the server, the brokers. The job has
        # ended, and its outcome is reported.
        with suppress(Exception):
            self._positions.follow(self.query, self._batches.last_settled)
        with suppress(Exception):
            if self._remote is not None:
                self._remote.close()
        self._positions.close()
        self._keep_shards(at_once=True)
        self._checkpoint.close()

    def _keep_shards(self, at_once: bool = False) -> None:
        if self._checkpoint.owner is not None:
            with suppress(OSError, MillstreamError):  # it is there to be shown, and no more
                self._checkpoint.check_owned()
                self._ledger.shards.keep(self._checkpoint.folder, at_once)

    def _is_active(self) -> bool:
        """Whether the query runs; a server is not asked each time, for it logs each question."""
        now = time.monotonic()
        if self._remote is not None and now - self._asked < _QUESTIONS:
            return True
        self._asked = now
        return self.query.isActive

    def _end_query(self) -> None:
        """Ends the query, between two batches."""
        if self._remote is not None:
            self._remote.stop()
        if not self.query.status["isTriggerActive"]:
            self.query.stop()
        time.sleep(0.05)

    def _leave_query(self) -> None:
        """Ends the query at once, here and at a server.

        Both may be gone, and raise anything: then nothing of the query is left to end.
        """
        with suppress(Exception):
            if self._remote is not None:
                self._remote.abandon()
        with suppress(Exception):
            self.query.stop()
