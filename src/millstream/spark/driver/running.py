"""Runs a program on Spark: as one batch query, or as one Structured Streaming query."""

from __future__ import annotations

import gc
import os
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import replace
from itertools import count
from typing import Any

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.model.errors import MillstreamError
from millstream.physical.plan import Physical
from millstream.plan.nodes import Source
from millstream.reports.outcome import Outcome, error_text, log
from millstream.sinks.kafka import check_groups
from millstream.spark.connect import Remote
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.failures import explained, recognised, spark_failure
from millstream.spark.driver.kafka_losses import Losses
from millstream.spark.driver.known_topics import KnownTopics, check_unchanged
from millstream.spark.driver.ledger import Ledger, Stopped, written
from millstream.spark.driver.repairs import Repair, repairs_in
from millstream.spark.driver.restarts import Restarts, keeps_dying, loss_of, never_restarted
from millstream.spark.driver.session import is_remote
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.pickling import pickled
from millstream.spark.lower.program import lower
from millstream.spark.sources.file_columns import check_files
from millstream.spark.sources.kafka import Positions, Topics
from millstream.spark.sources.reading import reader
from millstream.spark.worker.batch_clock import Moment, announce
from millstream.spark.worker.envelopes import ENVELOPE, batches_of, envelopes_in
from millstream.spark.worker.processor import Step, unpacked
from millstream.spark.worker.stateful_stage import Shelf, Stage
from millstream.system.interrupts import interruptible

_STOPPED = f"{Stopped.__module__}.{Stopped.__qualname__}"  # as a traceback names it
_LOOKS = 0.1  # seconds between two looks at a query
_CALLS = 0.25  # the same where each look is a call to a server
_QUESTIONS = 1.0  # the same for calls that a server must work for

# Py4J's objects refer to themselves, so only a collector finds that nobody wants them any more. As
# long as they are there, the JVM keeps what they stand for: of a batch, its plan, its shuffle and
# what was broadcast. By the time that Python looks for garbage by itself, many batches later, Java
# has put all that among what is old, from where only a long stop takes it away.
_SOON = 0.02
_YOUNG = 1  # what was made since some collections ago; to look through all takes 50 ms and more


def run_batch(
    plan: Physical,
    spark: SparkSession,
    ledger: Ledger,
    labels: list[int],
    topics: Mapping[str, Topics],
) -> None:
    """Runs a program over bounded sources, all at once."""
    started = time.time()
    check_groups(plan.sinks, ledger.run)
    with explained(), never_restarted(plan.sinks), recognised(plan):
        read = reader(spark, plan, False, None, topics)
        only = Moment(0, int(started * 1_000_000))
        lowering = Lowering(plan=plan, labels=labels, run=ledger.run, ending=False, only=only)
        lowered = lower(lowering, read, _in_one_batch)
        rows = written(lowered.last, lowered.frame, 0)
        for each in topics.values():
            check_unchanged(each)
        ledger.settle(0, rows, started)


class StreamingJob:
    """A running query. What ended it, if that was an error, is its ``outcome``."""

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
        check_groups(plan.sinks, checkpoint.run)
        self._plan = plan
        self._ledger = ledger
        self._restarts = Restarts(restarts)
        self._empty = empty
        self._positions = Positions(name, topics.values())
        self._losses = Losses(topics.values(), checkpoint.folder)
        self._known = KnownTopics(topics.values(), checkpoint.folder)
        self._lost_before = Counter(self._known.resume())
        self._checkpoint = checkpoint
        self._stopping = threading.Event()
        self._remote: Remote | None = None
        if is_remote(spark):
            reads = [each for each in topics.values() if not each.source.bounded]
            self._remote = Remote(
                spark, ledger.run, plan.sinks, reads, checkpoint.folder, checkpoint.fence
            )
        self._hearing = threading.Lock()
        self._done: int | None = None
        self._over = False
        self._abandoned = False
        self._asked = 0.0
        self._clock = clock = plan.needs_clock
        repairs = repairs_in(checkpoint.folder)
        self._tells_clock = plan.judges_times or bool(repairs)
        with recognised():
            folder = checkpoint.folder
            rows = f"{folder}/rows"
            read = reader(spark, plan, True, rows, topics, checkpoint.packing)
            splits = {n: each.splits for n, each in topics.items() if not each.source.bounded}
            lowering = Lowering(
                plan=plan,
                labels=checkpoint.labels,
                run=checkpoint.run,
                owner=checkpoint.fence.owner,
                ending=True,
                splits=splits,
            )
            apart = self._remote is not None or not _tasks_know_their_batch()
            self._lowered = lower(lowering, read, _in_steps(clock, checkpoint.run, repairs), apart)
            self._ends = all(source.bounded for source in plan.sources)
            # By the clock, Spark begins a batch whether or not there is something new.
            self._every = every or ("500 milliseconds" if clock else None)
            self.query = self._started()
        self._thread = threading.Thread(target=self._watch, name=f"millstream-{name}", daemon=True)
        self._thread.start()

    def _started(self) -> StreamingQuery:
        """The query, from where the checkpoint is."""
        writer = self._lowered.frame.writeStream.outputMode("append").queryName(self.name)
        writer = writer.option("checkpointLocation", f"{self._checkpoint.folder}/spark")
        if self._ends:
            writer = writer.trigger(availableNow=True)
        elif self._every:
            writer = writer.trigger(processingTime=self._every)
        remote, last = self._remote, self._lowered.last
        batch = remote.batch(last, self._tells_clock) if remote else self._batch
        return writer.foreachBatch(batch).start()

    @property
    def over(self) -> bool:
        """Whether the job has ended."""
        return self._ledger.tracker.progress().over

    def stop(self) -> None:
        """Asks for an end after the batch under way; returns at once."""
        self._ledger.tracker.state("stopping")
        self._stopping.set()

    def leave(self) -> bool:
        """Ends the job at once, if it is at a server that would go on with it.

        PySpark can call the server when the program ends, but not take its answers any more. What
        the batch under way has done, counts once when it is done again.
        """
        if self._remote is None:
            return False
        self.abandon()
        self._checkpoint.close()
        return True

    def abandon(self) -> None:
        """Ends the job at once; what the batch under way has done counts once when it is resumed.

        Nothing of it goes on after an error of this program, or at a server after its end.
        """
        if self._over:
            return
        self._abandoned = True
        self._stopping.set()
        self._leave_query()
        self._over = True

    def _leave_query(self) -> None:
        """Ends the query at once, here and at a server."""
        with suppress(Exception):
            if self._remote is not None:
                self._remote.abandon()
        with suppress(Exception):
            self.query.stop()

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
                    # What ended the query has ended the waiting too; it may be started again.
                    while self._thread.is_alive() and self.query is query:
                        self._thread.join(_LOOKS)
                else:
                    interruptible(self._hear)
                    return
        self.outcome.check()  # nothing if the job was stopped

    def _all_processed(self) -> None:
        if self._ends or not self._clock:
            self.query.processAllAvailable()
            return
        # By the clock there is always another batch, for which Spark would wait for ever. One that
        # began after this call and has found nothing will do; the next may have begun before it.
        last = self.query.lastProgress
        after = None if last is None else last.batchId + 1
        while self.query.isActive:
            last = self.query.lastProgress
            if last is not None and after is None:
                after = last.batchId  # the first that is told of began before, perhaps
            if last is not None and last.batchId > (after or 0) and not last.numInputRows:
                return
            time.sleep(_LOOKS)
        self.query.processAllAvailable()  # raises what ended it

    def _batch(self, frame: DataFrame, number: int) -> None:
        if self._stopping.is_set():
            raise Stopped
        self._checkpoint.fence.check()
        started = time.time()
        if self._tells_clock:
            announce(frame.sparkSession, self._checkpoint.run, self._checkpoint.folder, number)
        self._empty = check_files(self._empty)  # files have come since the job started
        try:
            with self._known.unchanged(number):
                lost = self._losses.of(number)
                rows = written(self._lowered.last, frame, number)
        except Exception:
            if self._abandoned:
                raise Stopped from None  # of what was broken off there is nothing to tell
            raise
        self._settle(number, rows, started, lost)
        # Once Spark has its thread back, nobody holds the frame any more.
        threading.Timer(_SOON, gc.collect, (_YOUNG,)).start()

    def _settle(
        self,
        number: int,
        rows: list[Row],
        started: float,
        lost: Mapping[str, int],
        ended: float | None = None,
    ) -> None:
        self._ledger.settle(number, rows, started, Counter(lost) + self._lost_before, ended)
        self._lost_before.clear()
        self._done = number

    def _hear(self) -> None:
        """Takes note of the batches that a server has committed."""
        if self._remote is None:
            return
        with self._hearing:
            for told in self._remote.hear():
                self._settle(told.batch, told.rows, told.started, told.lost, told.ended)

    def _watch(self) -> None:
        tracker = self._ledger.tracker
        tracker.state("running")
        error = self._what_ended_it()
        while error is not None and not self._stopping.is_set():
            loss = loss_of(error)
            if loss is None and not self._reads_new_topics(error):
                break
            if loss is not None and not self._waits_to_restart(loss):
                error = keeps_dying(loss, self._restarts.count, self._ledger.sinks)
                break
            error = None if self._stopping.is_set() else self._what_ended_it(again=True)
        self._over = True
        stopped = self._stopping.is_set() and (error is None or _STOPPED in str(error))
        if stopped or self._abandoned:
            tracker.state("stopped")
        elif error is None:
            tracker.state("finished")
        else:
            error = spark_failure(self._checkpoint.cause_of(error))
            self.outcome.fail(error)
            tracker.fail(error_text(error))
        with suppress(Exception):  # the JVM itself may be gone
            self._positions.follow(self.query, self._done)
        with suppress(Exception):
            if self._remote is not None:
                self._remote.close()
        self._positions.close()
        self._keep_standing(at_once=True)
        self._checkpoint.close()

    def _keep_standing(self, at_once: bool = False) -> None:
        if self._checkpoint.owner is not None:
            with suppress(OSError, MillstreamError):  # it is there to be shown, and no more
                self._checkpoint.check_owned()
                self._ledger.standing.keep(self._checkpoint.folder, at_once)

    def _what_ended_it(self, again: bool = False) -> BaseException | None:
        """Follows the query to its end, and returns what ended it, if that was an error."""
        try:
            with recognised(self._plan):
                if again:
                    self._checkpoint.fence.check()
                    self.query = self._started()
                while self._is_active():
                    self._checkpoint.check_owned()
                    self._hear()
                    self._positions.follow(self.query, self._done)
                    self._keep_standing()
                    if self._stopping.wait(_LOOKS if self._remote is None else _CALLS):
                        self._end()
                self._hear()
                self.query.awaitTermination()  # raises what ended it, if that was an error
                if not self._stopping.is_set():
                    self._checkpoint.fence.check()  # Spark ends a query whose successor it starts
        except BaseException as error:
            if not self._abandoned:
                self._leave_query()
            return error
        return None

    def _reads_new_topics(self, error: BaseException) -> bool:
        """Whether the job continues with topics that were created again; at a server, not."""
        lost = None if self._remote is not None else self._known.renew(error)
        self._lost_before.update(lost or {})
        return lost is not None

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
        self._stopping.wait(pause)
        return True

    def _is_active(self) -> bool:
        """Whether the query runs; a server is not asked each time, for it notes each question."""
        now = time.monotonic()
        if self._remote is not None and now - self._asked < _QUESTIONS:
            return True
        self._asked = now
        return self.query.isActive

    def _end(self) -> None:
        """Ends the query, between two batches."""
        if self._remote is not None:
            self._remote.stop()
        if not self.query.status["isTriggerActive"]:
            self.query.stop()
        time.sleep(0.05)


def _tasks_know_their_batch() -> bool:
    """Whether Spark tells them: what it knows of a thread is lost if Python's are not Java's."""
    return os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"


def _in_one_batch(frame: DataFrame, stage: Stage) -> DataFrame:
    packed = pickled(stage)

    def run(key: tuple[Any, ...], table: pa.Table) -> pa.Table:
        given = [e for batch in table.to_batches() for e in envelopes_in(batch)]
        shelf = Shelf(_InMemory(), None)
        made = unpacked(packed).run(key[0].as_py(), given, shelf, 0, ends=True)
        return pa.Table.from_batches(list(batches_of(made)))

    return frame.groupBy("shard").applyInArrow(run, ENVELOPE)


def _in_steps(clock: bool, run: str, repairs: tuple[Repair, ...]) -> Any:
    mode = "processingtime" if clock else "none"

    def shuffle(frame: DataFrame, stage: Stage) -> DataFrame:
        step = Step(replace(stage, run_id=run, repairs=repairs), clock)
        return frame.groupBy("shard").transformWithState(step, ENVELOPE, "append", mode)

    return shuffle


class _InMemory(dict[str, bytes]):
    """A store for as long as a batch takes."""

    read = dict.get
    write = dict.__setitem__
    remove = dict.__delitem__


def labels_of(shards: int, partitions: int) -> list[int]:
    """A number for each shard, chosen so that Spark spreads the shards evenly over partitions.

    Spark puts a group where the hash of its key says; for 0, 1, 2 … it could put most in one place.
    """
    labels: list[int] = []
    for shard in range(shards):
        free = (number for number in count() if number not in labels)
        labels.append(next(n for n in free if _murmur3(n) % partitions == shard % partitions))
    return labels


def _murmur3(number: int) -> int:
    """Spark's hash of an int: MurmurHash3 with seed 42.

    >>> _murmur3(0), _murmur3(1)
    (933211791, -559580957)
    """
    mask = 0xFFFFFFFF
    k = (number & mask) * 0xCC9E2D51 & mask
    k = ((k << 15) | (k >> 17)) & mask
    k = k * 0x1B873593 & mask
    h = 42 ^ k
    h = ((h << 13) | (h >> 19)) & mask
    h = (h * 5 + 0xE6546B64) & mask
    h ^= 4
    h ^= h >> 16
    h = h * 0x85EBCA6B & mask
    h ^= h >> 13
    h = h * 0xC2B2AE35 & mask
    h ^= h >> 16
    return h if h < 2**31 else h - 2**32
