"""One turn of Python in a stage: users' functions, and what comes before a shuffle or a sink.

A hop is called once for each partition, with all of its record batches. In those stand the rows of
several steps side by side (see ``jvm.py``), or envelopes. Each step's rows go through its tasks
(``tasks.py``); what comes out is envelopes for the next stage, or rows for the JVM's next turn.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from functools import cached_property, lru_cache
from typing import Any, Literal

import polars as pl
import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.engine.rows import (
    SIGN,
    SPLIT,
    TIME,
    from_arrow,
    late_rows,
    pane_rows,
    refused,
    with_time,
)
from millstream.engine.state.blobs import unpacked
from millstream.engine.watermarks import newest
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Bounded, latest_time
from millstream.reference.rows import LOOKS_LIKE
from millstream.sinks.kinds import Slice
from millstream.sinks.slices import number_of
from millstream.spark.lower.pickling import pickled
from millstream.spark.worker.batch_clock import of_this_task
from millstream.spark.worker.envelopes import ARROW, Envelope, batches_of, envelopes_in
from millstream.spark.worker.tasks import Follow, PortSpec, Task, Write

_BATCH = "streaming.sql.batchId"


@dataclass(frozen=True)
class Refused:
    """A column of rows that the JVM has rejected: the reason, and in a new line the record."""

    step: str
    column: str
    tasks: list[Task]


@lru_cache(maxsize=64)
def _unpacked(hop: bytes) -> Hop:
    """A worker makes a hop ready once, not for each batch."""
    made: Hop = pickle.loads(hop)
    return made


class Packed:
    """A hop on its way to the workers."""

    def __init__(self, hop: Hop) -> None:
        self._hop = pickled(replace(hop, batch=None))  # the same bytes for each batch
        self._batch = hop.batch

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        return replace(_unpacked(self._hop), batch=self._batch)(batches)


@dataclass
class Hop:
    """All that Python does in one turn of a stage."""

    ports: list[tuple[PortSpec, list[Task]]]
    envelopes: dict[tuple[str, str], list[Task]]
    """Tasks for panes and late rows of groupings, and, in the last stage, for rows of sinks."""
    groupings: dict[str, tuple[list[str], list[str], pa.Schema]]
    tasks: list[Task]
    """All tasks, each before those that it gives rows to."""
    follows: list[Follow]
    refused: list[Refused]
    untimed: dict[str, str]
    """Columns of times, by step: what is null in one was rejected, and nobody wants to see it."""
    labels: list[int]
    schema: pa.Schema
    split: str | None = None
    ends: list[str] = field(default_factory=list)
    """Watermarks that have reached the end of time when the partition ends."""
    source: str | None = None
    """The source whose rows are counted here, as they come."""
    origin: str = ""
    """The source that all rows are from, if that is one."""
    slices: Literal["tasks", "splits", "origins"] = "tasks"
    """What is a slice of its own: what a task has, or each split, or each origin of envelopes."""
    by_split: bool = False
    run: str = ""
    owner: str = ""
    batch: int | None = None
    """The number of the batch, if the driver tells it; else Spark does, in the task."""
    clock: int | None = None
    """The clock, if it is the same for all that this ever runs over; else that of the batch."""

    def __call__(self, batches: Iterator[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        context = TaskContext.get()
        number = context.partitionId() if context else 0
        run = Run(self, number)
        with run.careful():
            for batch in batches:
                for place, part in self._places(batch):
                    if place is not None and run.place not in (None, place):
                        run.end()
                        yield from run.made()
                        run = Run(self, number)
                    run.is_of(place)
                    run.take(part)
                    yield from run.made()
                    for _ in run.left():
                        yield from run.made()
            run.end()
            yield from run.made()

    def _places(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """The rows by what they are slices of, of which one task may have several, one by one."""
        if self.slices == "tasks" or not batch.num_rows:
            yield None, batch
            return
        if self.slices == "splits":
            names = batch.column(str(self.split))
        else:
            begun = pc.replace_substring_regex(batch.column("split"), "/[^/]*$", "")
            names = pc.if_else(pc.equal(batch.column("kind"), "sink"), begun, None)
        places = pc.run_end_encode(names)
        begin = 0
        for place, end in zip(places.values.to_pylist(), places.run_ends.to_pylist(), strict=True):
            yield None if place is None else str(place), batch.slice(begin, end - begin)
            begin = end

    def after(self, made: Iterable[Envelope], number: int) -> Iterator[Envelope]:
        """What becomes of envelopes that a stage has made, in the shard of that number."""
        run = Run(self, number)
        for task in self.tasks:
            if isinstance(task, Write):
                task.expect(run)
        with run.careful():
            for envelope in made:
                run.open(envelope)
                yield from run.sent()
            run.end()
            yield from run.sent()


class Run:
    """A hop over one partition, or over what a shard has made; ``number`` says which."""

    def __init__(self, hop: Hop, number: int) -> None:
        self.hop = hop
        self.split = ""
        self.place: str | None = None
        self.out: list[pa.Table | pa.RecordBatch] = []
        self._envelopes: list[Envelope] = []
        self._left: list[Iterator[None]] = []
        self._marks: dict[tuple[str, str], int] = {}
        self._counts: dict[tuple[str, str], int] = {}
        self._ahead: dict[str, tuple[int, str]] = {}
        self._reasons: dict[str, str] = {}
        self._sent = 0
        self._number = number
        self._name = ""
        for task in hop.tasks:
            task.begin(self)

    @cached_property
    def slice(self) -> Slice:
        """The part of a batch that this is."""
        context = TaskContext.get()
        batch = self.hop.batch
        if batch is None:
            # This is how Spark tells a task of a streaming query its batch.
            number = context.getLocalProperty(_BATCH) if context else None
            if number is None:
                raise _no_batch()
            batch = int(number)
        attempt = context.taskAttemptId() if context else 0
        return Slice(self.hop.run, batch, self._number, attempt, self._name, self.hop.owner)

    @cached_property
    def clock(self) -> int:
        """The clock of the batch: the same however often it is retried."""
        return of_this_task(self.hop.run).clock if self.hop.clock is None else self.hop.clock

    @contextmanager
    def careful(self) -> Iterator[None]:
        """Leaves nothing half written behind."""
        try:
            yield
        except BaseException:
            for task in self.hop.tasks:
                if isinstance(task, Write):
                    task.abort()
            raise

    def is_of(self, place: str | None) -> None:
        """Has a number that goes by a place, such as a partition of Kafka, if that is known.

        Spark may read partitions in another order when a batch is done again; and what is in a
        slice must stay in it, or what was written before would be left out, and other rows doubled.
        """
        if place is not None and self.place is None:
            self.place = place
            plain = place.isdecimal()
            self._number = int(place) if plain else number_of(place)
            self._name = "" if plain else place

    def take(self, batch: pa.RecordBatch) -> None:
        """A record batch: rows of steps, or envelopes, or some of both."""
        if "kind" in batch.schema.names and "payload" in batch.schema.names:
            for envelope in envelopes_in(batch):
                self.open(envelope)
        if self.hop.source is not None:
            self.count(self.hop.source, "read", batch.num_rows)
        if not self.hop.ports and not self.hop.follows and not self.hop.refused:
            return  # there are but envelopes
        rows = from_arrow(batch)
        self._follow(rows)
        for step, column in self.hop.untimed.items():
            self.count(step, "rejected", rows[column].null_count())
        for refusal in self.hop.refused:
            told = [text.rsplit("\n", 1) for text in rows[refusal.column].drop_nulls()]
            bad = refused(refusal.step, [why for why, _ in told], [what for _, what in told])
            self.reject(refusal.step, bad, refusal.tasks)
        for part in self._parts(rows):
            for port, tasks in self.hop.ports:
                mine = port.rows(part)
                if mine.height:
                    for task in tasks:
                        task.take(mine, self)

    def later(self, work: Iterator[None]) -> None:
        """Takes work that has much to give, to be done step by step."""
        self._left.append(work)

    def left(self) -> Iterator[None]:
        """Does the work that is left; what each step of it gives can be handed on at once."""
        while self._left:
            yield from self._left.pop(0)

    def end(self) -> None:
        """The partition is over."""
        for task in self.hop.tasks:
            task.end(self)
        for mark in self.hop.ends:
            for split in ["", *(split for known, split in self._marks if known == mark)]:
                self._marks[mark, split] = END_OF_TIME
        for (mark, split), watermark in self._marks.items():
            for label in self.hop.labels:
                self.send(Envelope(label, mark, "mark", split=split, value=watermark))
        for (step, what), number in self._counts.items():
            count = Envelope(self.home(), step, "count", split=what, value=number)
            if what == "ahead":
                count.start, split = self._ahead[step]
                count.payload = split.encode()
            elif what == "rejected" and step in self._reasons:
                count.payload = self._reasons[step].encode()
            self.send(count)

    def made(self) -> Iterator[pa.RecordBatch]:
        """What has come out so far."""
        self.flush()
        out, self.out = self.out, []
        for table in out:
            yield from table.to_batches() if isinstance(table, pa.Table) else [table]

    def send(self, envelope: Envelope) -> None:
        self._envelopes.append(envelope)

    def sent(self) -> list[Envelope]:
        """The envelopes that have come out so far."""
        sent, self._envelopes = self._envelopes, []
        return sent

    def flush(self) -> None:
        """Puts the envelopes in their place in the output."""
        for batch in batches_of(self.sent()):
            told = {name: batch.column(name) for name in ARROW.names}
            if self.place is not None:
                told[SPLIT] = pa.repeat(self.place, batch.num_rows)
            columns = [
                told[f.name] if f.name in told else pa.nulls(batch.num_rows, f.type)
                for f in self.hop.schema
            ]
            self.out.append(pa.RecordBatch.from_arrays(columns, schema=self.hop.schema))

    def count(self, step: str, what: str, number: int) -> None:
        if number:
            self._counts[step, what] = self._counts.get((step, what), 0) + number

    def reject(self, step: str, rows: pl.DataFrame, tasks: list[Task]) -> None:
        self.count(step, "rejected", rows.height)
        if rows.height:
            for reason in rows["reason"].filter(rows["reason"].str.contains(LOOKS_LIKE)).head(1):
                self._reasons.setdefault(step, reason)
            for task in tasks:
                task.take(rows, self)

    def latest(self, follow: Follow) -> int:
        """The last time that may move a watermark."""
        return END_OF_TIME if follow.ahead is None else latest_time(self.clock, follow.ahead)

    def follow(self, follow: Follow, split: str, times: pl.Series) -> int:
        """Moves a split's watermark by the times that it has shown, or the watermarks in a column.

        Those that are too far ahead do not count; how many these are.
        """
        found, ahead = newest(times, self.latest(follow))
        self._move(follow, split, found)
        if ahead:
            self.count(follow.step, "ahead", ahead)
            farthest: Any = times.max()
            place = f"source {self.hop.origin!r}" + (f", split {split!r}" if split else "")
            known = self._ahead.get(follow.step, (farthest, place))
            self._ahead[follow.step] = max(known, (farthest, place))
        return ahead

    def _move(self, follow: Follow, split: str, time: int | None) -> None:
        if follow.mark is not None and time is not None:
            policy = follow.policy
            watermark = time - (policy.disorder if isinstance(policy, Bounded) else 0)
            known = self._marks.get((follow.mark, split), START_OF_TIME)
            self._marks[follow.mark, split] = max(known, watermark)

    def home(self) -> int:
        """The shard that takes along what is for no shard in particular."""
        labels = self.hop.labels
        return labels[self._number % len(labels)] if labels else 0

    def next_origin(self) -> str:
        """A name that sorts what comes from everywhere into an order that is always the same."""
        self._sent += 1
        return f"{self.hop.origin}/{self._number:06}/{self._sent:06}"

    def open(self, envelope: Envelope) -> None:
        """Gives what an envelope holds to those that it is for; others are handed on."""
        tasks = self.hop.envelopes.get((envelope.kind, envelope.node))
        if tasks is None:
            self.send(envelope.sealed())
            return
        table = envelope.rows
        if table is None:
            assert envelope.payload is not None
            table = unpacked(envelope.payload)
        if envelope.kind == "pane":
            keys, aggregates, schema = self.hop.groupings[envelope.node]
            table = _typed(pane_rows(table, keys, aggregates), schema)
        elif envelope.kind == "late":
            table = late_rows(table)
        else:
            table = with_time(table)
        for task in tasks:
            task.take(table, self)

    def _follow(self, rows: pl.DataFrame) -> None:
        for follow in self.hop.follows:
            column, split = follow.column, self.hop.split
            if split is None:
                self.follow(follow, "", rows[column])
            elif newest(rows[column], self.latest(follow))[1]:
                for (name,), part in rows.partition_by(split, as_dict=True).items():
                    self.follow(follow, _name(name), part[column])
            else:
                for name, time in rows.group_by(split).agg(pl.col(column).max()).iter_rows():
                    self._move(follow, _name(name), time)

    def _parts(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The rows, split by split if a task is to follow their times."""
        if self.hop.split is None or not self.hop.by_split:
            yield rows
            return
        for (split,), part in rows.partition_by(self.hop.split, as_dict=True).items():
            self.split = _name(split)
            yield part


def _no_batch() -> RunError:
    """Without its number, a batch could be taken for one that was written before, and lost."""
    return RunError(
        "MS206",
        f"Spark does not tell its tasks the number of their batch ({_BATCH})",
        fix="run the job with the version of PySpark that Millstream was installed with",
    )


def _name(split: Any) -> str:
    return "" if split is None else str(split)


def _typed(rows: pl.DataFrame, schema: pa.Schema) -> pl.DataFrame:
    """The columns of the step, in the types that Spark was told: a batch may suggest others."""
    types = from_arrow(schema.empty_table()).schema
    return rows.select(*(pl.col(n).cast(t) for n, t in types.items()), TIME, SIGN)
