"""A streaming job over Spark Connect: the server commits its batches, and the program hears of it.

What ``foreachBatch`` is given runs in a process next to the server. That process and the program
share a session, so each finds there what the other has left: a view for each batch, which holds
what its tasks have told, and settings, of which one tells the last batch, and another that the job
is to stop. Settings are what is asked for quickest.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterator
from dataclasses import dataclass, field
from functools import cached_property

import pyarrow as pa
from pyspark.sql import DataFrame, Row, SparkSession

from millstream.plan.nodes import Sink
from millstream.plan.targets import Target
from millstream.spark.hop import Hop
from millstream.spark.ledger import Commits, Stopped, shows, written
from millstream.spark.wire import ARROW

_MOST_VIEWS = 1000  # of a program that has gone away, and looks at none of them


@dataclass(frozen=True)
class Told:
    """What the server has told of a batch."""

    batch: int
    started: float
    ended: float
    rows: list[Row]


class Remote:
    """The program's end of the line."""

    def __init__(self, spark: SparkSession, run: str, sinks: tuple[Sink, ...]) -> None:
        self._spark = spark
        self._run = run
        self._targets = {sink.name: sink.target for sink in sinks if not shows(sink.target)}
        self._line = f"millstream_{uuid.uuid4().hex}"
        self._heard: str | None = None

    def batch(self, last: Hop | None) -> RemoteBatch:
        """What the server is to do in each batch."""
        assert last is not None  # nothing but this tells tasks the number of their batch
        return RemoteBatch(self._line, self._run, last, self._targets)

    def stop(self) -> None:
        """No further batch is to begin."""
        self._spark.conf.set(_stops(self._line), "true")

    def hear(self) -> Iterator[Told]:
        """What has been told since the last time, batch by batch."""
        told = self._spark.conf.get(_done(self._line), None)
        if told == self._heard:
            return
        self._heard = told
        views = self._spark.catalog.listTables(pattern=f"{self._line}_*")
        for batch in sorted(int(view.name.removeprefix(f"{self._line}_")) for view in views):
            view = f"{self._line}_{batch}"
            (one,) = self._spark.table(view).collect()
            with pa.ipc.open_stream(bytes(one.rows)) as stream:
                rows = [Row(**row) for row in stream.read_all().to_pylist()]
            yield Told(batch, one.started, one.ended, rows)
            self._spark.catalog.dropTempView(view)

    def close(self) -> None:
        """Leaves nothing in the session."""
        self._spark.conf.unset(_stops(self._line))
        self._spark.conf.unset(_done(self._line))


@dataclass
class RemoteBatch:
    """The server's end of the line, which is called for each batch."""

    line: str
    run: str
    last: Hop
    targets: dict[str, Target] = field(default_factory=dict)

    @cached_property
    def _commits(self) -> Commits:
        return Commits(self.run, self.targets)

    def __call__(self, frame: DataFrame, number: int) -> None:
        session = frame.sparkSession
        if session.conf.get(_stops(self.line), None) is not None:
            raise Stopped
        started = time.time()
        rows = written(self.last, frame, number)
        self._commits.commit(number, rows)
        table = pa.table(
            {"started": [started], "ended": [time.time()], "rows": [self._packed(rows)]}
        )
        session.createDataFrame(table).createOrReplaceTempView(f"{self.line}_{number}")
        session.catalog.dropTempView(f"{self.line}_{number - _MOST_VIEWS}")
        session.conf.set(_done(self.line), str(number))

    def _packed(self, rows: list[Row]) -> bytes:
        """The rows, without the receipts of what is committed here."""
        told = [row.asDict() for row in rows]
        for row in told:
            if row["node"] in self.targets:
                row["payload"] = None
        sink = pa.BufferOutputStream()
        with pa.ipc.new_stream(sink, ARROW) as stream:
            stream.write_table(pa.Table.from_pylist(told, ARROW))
        packed: bytes = sink.getvalue().to_pybytes()
        return packed


def _stops(line: str) -> str:
    return f"spark.millstream.{line}.stops"


def _done(line: str) -> str:
    return f"spark.millstream.{line}.done"
