"""The batches of a streaming job: run here, or by a server of Spark Connect, and settled here."""

from __future__ import annotations

import gc
import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from pyspark.sql import DataFrame, Row

from millstream.plan.nodes import Source
from millstream.spark.batches.commits import Stopped, written
from millstream.spark.batches.kafka_losses import Losses
from millstream.spark.batches.known_topics import KnownTopics
from millstream.spark.connect import Remote
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.ledger import Ledger
from millstream.spark.driver.query_start import QueryStart
from millstream.spark.driver.stopped_batch import note_untouched
from millstream.spark.sources.file_columns import check_files
from millstream.spark.sources.kafka import Topics
from millstream.spark.worker.batch_clock import announce

# Py4J's objects refer to themselves, so only a collector finds that they are unused. As long as
# they exist, the JVM keeps what they refer to: a batch's plan, shuffle and broadcasts. By the time
# that Python collects garbage by itself, many batches later, Java has moved all that to its old
# generation, which only a long stop cleans.
_SOON = 0.02
_YOUNG = 1  # what was made since some collections ago; to look through all takes 50 ms and more


@dataclass
class StopRequest:
    """Whether a job is to stop: after the batch under way, or at once."""

    asked: threading.Event = field(default_factory=threading.Event)
    at_once: bool = False


class JobBatches:
    """Runs each batch of a job, and settles it: commits its sinks and reports its progress.

    ``run`` is called in Spark's thread. Batches of a server are settled by ``settle_remote``, in
    the thread that asks for them, one at a time.
    """

    def __init__(
        self,
        ledger: Ledger,
        checkpoint: Checkpoint,
        topics: Mapping[str, Topics],
        empty: Sequence[Source],
        stop: StopRequest,
    ) -> None:
        self.last_settled: int | None = None
        self._ledger = ledger
        self._checkpoint = checkpoint
        self._empty = empty
        self._stop = stop
        self._losses = Losses(topics.values(), checkpoint.folder)
        self._known = KnownTopics(topics.values(), checkpoint.folder)
        self._lost_before = Counter(self._known.resume())
        self._settling = threading.Lock()

    def run(self, start: QueryStart, frame: DataFrame, number: int) -> None:
        """Runs a batch in this process."""
        if self._stop.asked.is_set():
            if not self._checkpoint.fleeting:
                note_untouched(self._checkpoint.folder, number, self._checkpoint.fence)
            raise Stopped
        self._checkpoint.fence.check()
        started = time.time()
        if start.announces_clock:
            announce(frame.sparkSession, self._checkpoint.run, self._checkpoint.folder, number)
        start.lookups.announce(frame.sparkSession, number, int(started * 1_000_000))
        self._empty = check_files(self._empty)  # files have arrived since the job started
        try:
            with self._known.unchanged(number):
                lost = self._losses.of(number)
                rows = written(start.last, frame, number)
        except Exception:  # whatever Spark raises of a batch that was broken off: it is no failure
            if self._stop.at_once:
                raise Stopped from None
            raise
        self._settle(number, rows, started, lost)
        # Once Spark has its thread back, nothing refers to the frame any more.
        threading.Timer(_SOON, gc.collect, (_YOUNG,)).start()

    def settle_remote(self, remote: Remote) -> None:
        """Settles the batches that a server has committed since the last time."""
        with self._settling:
            for each in remote.committed():
                self._settle(each.batch, each.rows, each.started, each.lost, each.ended)

    def continues_with_new_topics(self, error: BaseException) -> bool:
        """Whether the error is of topics that were created again, and the job may read these."""
        lost = self._known.renew(error)
        self._lost_before.update(lost or {})
        return lost is not None

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
        self.last_settled = number
