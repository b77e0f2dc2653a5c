"""A streaming job over Spark Connect: the server commits its batches and reports them here.

What ``foreachBatch`` is given runs in a process next to the server. That process and the program
share a session, so each finds there what the other has left: a view for each batch, which holds
what its tasks have reported, and settings, of which one names the batches, and another that
the job is to stop. Settings are what is asked for quickest.
"""

from __future__ import annotations

import json
import logging
import pickle
import time
import uuid
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

import pyarrow as pa
from pyspark.errors import AnalysisException
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.model.errors import RunError
from millstream.plan.nodes import Sink
from millstream.plan.targets import Console, Each, Memory, Target
from millstream.sinks.fence import Fence
from millstream.sinks.kinds import sinks_of
from millstream.spark.batches.commits import Commits, Stopped, written
from millstream.spark.batches.kafka_losses import Losses
from millstream.spark.batches.known_topics import KnownTopics
from millstream.spark.sources.kafka import Topics, unopened
from millstream.spark.worker.batch_clock import announce
from millstream.spark.worker.envelopes import ARROW
from millstream.spark.worker.pickling import pickled
from millstream.spark.worker.python_stage import PythonStage

_log = logging.getLogger(__name__)

# What is kept for a program that does not ask: it may have gone away.
_MOST_VIEWS = 1000
_MOST_BYTES = 256_000_000


@dataclass(frozen=True)
class SettledBatch:
    """What the server reports of a batch that it has committed."""

    batch: int
    started: float
    ended: float
    rows: list[Row]
    lost: dict[str, int]


class Remote:
    """The program's end of the line."""

    def __init__(
        self,
        spark: SparkSession,
        run: str,
        sinks: Iterable[Sink],
        topics: list[Topics],
        checkpoint: str,
        fence: Fence,
    ) -> None:
        self._spark = spark
        self._run = run
        self._targets = {each.name: each.target for each in sinks_of(sinks) if not each.shown}
        self._topics = topics
        self._checkpoint = checkpoint
        self._fence = fence
        self._line = f"millstream_{uuid.uuid4().hex}"
        self._next = 0

    def batch(self, last: PythonStage | None, announces_clock: bool) -> RemoteBatch:
        """What the server is to do in each batch."""
        assert last is not None  # only this gives tasks the number of their batch
        topics = [unopened(each) for each in self._topics]
        targets, checkpoint, fence = self._targets, self._checkpoint, self._fence
        return RemoteBatch(
            self._line, self._run, last, targets, topics, checkpoint, fence, announces_clock
        )

    def stop(self) -> None:
        """No further batch is to begin."""
        self._spark.conf.set(_stops(self._line), "true")

    def abandon(self) -> None:
        """Nor is the one under way to end."""
        self.stop()
        self._spark.interruptTag(self._line)

    def committed(self) -> Iterator[SettledBatch]:
        """What the server has reported since the last time, batch by batch.

        A batch on which the caller fails is reported again.
        """
        known = self._spark.conf.get(_committed(self._line), None)
        if known is None:
            return
        first, last = map(int, known.split())
        for batch in range(max(first, self._next), last + 1):
            try:
                (one,) = self._spark.table(_view(self._line, batch)).collect()
            except AnalysisException:
                _log.warning("the reports of batch %s were not read in time, and are gone", batch)
            else:
                with pa.ipc.open_stream(bytes(one.rows)) as stream:
                    rows = [Row(**row) for row in stream.read_all().to_pylist()]
                yield SettledBatch(batch, one.started, one.ended, rows, json.loads(one.lost))
                self._spark.catalog.dropTempView(_view(self._line, batch))
            self._next = batch + 1

    def close(self) -> None:
        """Leaves nothing in the session."""
        self._spark.conf.unset(_stops(self._line))
        self._spark.conf.unset(_committed(self._line))


@dataclass
class RemoteBatch:
    """The server's end of the line, which is called for each batch."""

    line: str
    run: str
    last: PythonStage
    targets: dict[str, Target]
    topics: list[Topics]
    checkpoint: str
    fence: Fence
    announces_clock: bool
    _kept: dict[int, int] = field(default_factory=dict, init=False)
    _first: int | None = field(default=None, init=False)

    def __reduce__(self) -> tuple[Any, ...]:
        return _received, (pickled(self.__dict__),)  # with users' functions in it

    @cached_property
    def _commits(self) -> Commits:
        return Commits(self.run, self.targets, self.fence)

    @cached_property
    def _losses(self) -> Losses:
        return Losses(self.topics, self.checkpoint)

    @cached_property
    def _known(self) -> KnownTopics:
        return KnownTopics(self.topics, self.checkpoint)

    def __call__(self, frame: DataFrame, number: int) -> None:
        session = frame.sparkSession
        if session.conf.get(_stops(self.line), None) is not None:
            raise Stopped
        self.fence.check()
        session.addTag(self.line)
        started = time.time()
        if self.announces_clock:
            announce(session, self.run, self.checkpoint, number)
        with self._known.unchanged(number):
            lost = self._losses.of(number)
            rows = written(self.last, frame, number)
        self._commits.commit(number, rows)
        packed = self._packed(rows)
        table = pa.table(
            {
                "started": [started],
                "ended": [time.time()],
                "rows": [packed],
                "lost": [json.dumps(lost)],
            }
        )
        session.createDataFrame(table).createOrReplaceTempView(_view(self.line, number))
        self._forget(session, number, len(packed))
        if self._first is None:
            self._first = number
        session.conf.set(_committed(self.line), f"{self._first} {number}")

    def _forget(self, session: SparkSession, number: int, size: int) -> None:
        """Drops the oldest views, of which the program has most likely read all, if it lives."""
        self._kept[number] = size
        while len(self._kept) > _MOST_VIEWS or (
            len(self._kept) > 1 and sum(self._kept.values()) > _MOST_BYTES
        ):
            oldest = min(self._kept)
            del self._kept[oldest]
            with suppress(AnalysisException):
                session.catalog.dropTempView(_view(self.line, oldest))

    def _packed(self, rows: list[Row]) -> bytes:
        """The rows, without the receipts of what is committed here."""
        reported = [row.asDict() for row in rows]
        for row in reported:
            if row["node"] in self.targets:
                row["payload"] = None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, ARROW) as stream:
            stream.write_table(pa.Table.from_pylist(reported, ARROW))
        packed: bytes = sink.getvalue().to_pybytes()
        return packed


def check_tables(sinks: Iterable[Sink]) -> None:
    """MS224: a server commits the batches, and nothing would keep the table."""
    for sink in sinks:
        if isinstance(sink.target, Memory | Console | Each) and sink.target.table is not None:
            raise RunError(
                "MS224",
                "mode='complete' keeps its table where batches are committed, and over Spark "
                "Connect that is not in your program",
                fix="leave mode='complete' out, or run the job in a session of its own",
                step=sink.name,
            )


def _view(line: str, batch: int) -> str:
    return f"{line}_{batch}"


def _stops(line: str) -> str:
    return f"spark.millstream.{line}.stops"


def _committed(line: str) -> str:
    return f"spark.millstream.{line}.committed"


def _received(state: bytes) -> RemoteBatch:
    made = RemoteBatch.__new__(RemoteBatch)
    made.__dict__.update(pickle.loads(state))
    return made
