"""One run of a Python stage: over a partition, or over what a shard has emitted."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import cached_property
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from pyspark import TaskContext

from millstream.engine.rows import (
    from_arrow,
    rejected_rows,
    with_places,
    with_time,
)
from millstream.engine.watermarks import newest
from millstream.model.instants import END_OF_TIME
from millstream.model.time_units import UNITS, unit_hint
from millstream.model.watermarks import latest_time
from millstream.reference.rows import LOOKS_LIKE
from millstream.sinks.slices import Slice, number_of
from millstream.spark.compat.batch_id import batch_of_this_task
from millstream.spark.sources.kafka_source import Records
from millstream.spark.worker.batch_clock import of_this_task
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.envelopes import Envelope, envelopes_in
from millstream.spark.worker.marks import Follow, Marks
from millstream.spark.worker.output import Output
from millstream.spark.worker.samples import rejected_sample
from millstream.spark.worker.tasks.task import Task

if TYPE_CHECKING:
    from millstream.spark.worker.python_stage import PythonStage, UnitColumn


class StageRun:
    """A Python stage at work: what its tasks share while they take the rows of one partition.

    ``number`` is that of the partition or shard. ``split`` is the split that the rows which tasks
    take now are of. ``where`` is set while files are loaded: it returns the file, and the line if
    that is known, of a row by its place among those that are loaded now. ``records`` is set where
    records of Kafka are read here: those that the rows which are taken now are of.
    """

    def __init__(self, stage: PythonStage, number: int, records: Records | None = None) -> None:
        self.stage = stage
        self.records = records
        self.split = ""
        self.where: Callable[[int], str] | None = None
        self.place: str | None = None
        self.output = Output(stage.schema)
        self.counts = Counts()
        self._marks = Marks()
        self._samples: dict[str, Envelope] = {}
        self._later: list[Iterator[None]] = []
        self._sent = 0
        self._read = 0
        self._number = number
        self._name = ""
        for task in stage.tasks:
            task.begin(self)

    @cached_property
    def slice(self) -> Slice:
        """The part of a batch that this is."""
        context = TaskContext.get()
        batch = self.stage.batch
        if batch is None:
            batch = batch_of_this_task()
        attempt = context.taskAttemptId() if context else 0
        return Slice(self.stage.run, batch, self._number, attempt, self._name, self.stage.owner)

    @cached_property
    def clock(self) -> int:
        """The clock of the batch: the same however often it is retried."""
        return of_this_task(self.stage.run).clock if self.stage.clock is None else self.stage.clock

    @contextmanager
    def careful(self) -> Iterator[None]:
        """Leaves nothing half written behind."""
        try:
            yield
        except BaseException:
            for task in self.stage.tasks:
                task.abort()
            raise

    def is_of(self, place: str | None) -> None:
        """Takes its number from a place, such as a partition of Kafka, if that is known.

        Spark may read partitions in another order when a batch is retried; and what is in a slice
        must stay in it, or what was written before would be left out, and other rows doubled.
        """
        if place is not None and self.place is None:
            self.place = self.output.split = place
            plain = place.isdecimal()
            self._number = int(place) if plain else number_of(place)
            self._name = "" if plain else place

    def take(self, batch: pa.RecordBatch) -> None:
        """Takes a record batch: rows of steps, or envelopes, or some of both."""
        stage = self.stage
        if "kind" in batch.schema.names and "payload" in batch.schema.names:
            for envelope in envelopes_in(batch):
                self.open(envelope)
        if stage.source is not None:
            self.counts.add(stage.source, "read", batch.num_rows)
        if not stage.inputs and not stage.follows and not stage.rejects:
            return  # there are only envelopes
        rows = from_arrow(batch)
        if stage.numbered:
            rows = with_places(rows, stage.origin, f"{self._number:06}", self._read)
            self._read += rows.height
        self._follow(rows)
        for step, column in stage.untimed.items():
            self.counts.add(step, "rejected", rows[column].null_count())
        for times in stage.units:
            self._check_unit(times, rows[times.column])
        for each in stage.rejects:
            lines = [text.rsplit("\n", 1) for text in rows[each.column].drop_nulls()]
            bad = rejected_rows(
                each.step, [why for why, _ in lines], [record for _, record in lines]
            )
            self.reject(each.step, bad, each.tasks)
        for part in self._by_split(rows):
            for columns, tasks in stage.inputs:
                mine = columns.rows(part)
                if mine.height:
                    for task in tasks:
                        task.take(mine, self)

    def _check_unit(self, times: UnitColumn, micros: pl.Series) -> None:
        """Counts event times that are all likely to be of another unit."""
        least, greatest = micros.min(), micros.max()
        if isinstance(least, int) and isinstance(greatest, int):
            number = UNITS[times.unit].number
            about = unit_hint(times.name, times.unit, number(least), number(greatest))
            if about is not None:
                self.counts.add_unit(times.step, micros.count(), about)

    def open(self, envelope: Envelope) -> None:
        """Gives what an envelope contains to the tasks it is for; others are passed on."""
        tasks: list[Task] | None = None
        if envelope.kind == "emit":
            emitted = self.stage.emitted.get((envelope.node, str(envelope.port)))
            if emitted is not None:
                tasks, rows = emitted.tasks, emitted.rows(envelope)
        elif envelope.kind == "sink" and envelope.node in self.stage.sinks:
            tasks, rows = [self.stage.sinks[envelope.node]], with_time(envelope.table())
        if tasks is None:
            self.output.send(envelope.sealed())
            return
        for task in tasks:
            task.take(rows, self)

    def later(self, work: Iterator[None]) -> None:
        """Queues work that makes many rows, to be done piece by piece."""
        self._later.append(work)

    def queued(self) -> Iterator[None]:
        """Does the queued work; what each piece of it makes can be passed on at once."""
        while self._later:
            yield from self._later.pop(0)

    def end(self) -> None:
        """The partition has ended."""
        for task in self.stage.tasks:
            task.end(self)
        for mark in self.stage.ends:
            self._marks.end(mark)
        for envelope in self._marks.envelopes(self.stage.labels):
            self.output.send(envelope)
        for envelope in (*self.counts.envelopes(self.home()), *self._samples.values()):
            self.output.send(envelope)

    def reject(self, step: str, rows: pl.DataFrame, tasks: list[Task]) -> None:
        self.counts.add(step, "rejected", rows.height)
        if rows.height:
            for reason in rows["reason"].filter(rows["reason"].str.contains(LOOKS_LIKE)).head(1):
                self.counts.example(step, reason)
            self._samples.setdefault(step, rejected_sample(step, self.home(), rows))
            for task in tasks:
                task.take(rows, self)

    def latest(self, follow: Follow) -> int:
        """The last time that may move a watermark."""
        return END_OF_TIME if follow.ahead is None else latest_time(self.clock, follow.ahead)

    def follow(self, follow: Follow, split: str, times: pl.Series) -> int:
        """Moves a split's watermark by event times, or by the watermarks in a column.

        Those that are too far ahead do not count; returns how many these are.
        """
        found, ahead = newest(times, self.latest(follow))
        self._marks.move(follow, split, found)
        if ahead:
            farthest: Any = times.max()
            place = f"source {self.stage.origin!r}" + (f", split {split!r}" if split else "")
            rejected = follow.policy.on_ahead == "reject"
            fate = "They are rejected" if rejected else "They move no watermark"
            self.counts.add_ahead(follow.step, ahead, farthest, f"{place}. {fate}")
        return ahead

    def home(self) -> int:
        """The shard that takes along what is for no shard in particular."""
        labels = self.stage.labels
        return labels[self._number % len(labels)] if labels else 0

    def next_origin(self) -> str:
        """A name that sorts what arrives from everywhere into an order that is always the same."""
        self._sent += 1
        return f"{self.stage.origin}/{self._number:06}/{self._sent:06}"

    def _follow(self, rows: pl.DataFrame) -> None:
        for follow in self.stage.follows:
            column, split = follow.column, self.stage.split
            if split is None:
                self.follow(follow, "", rows[column])
            elif newest(rows[column], self.latest(follow))[1]:
                for (name,), part in rows.partition_by(split, as_dict=True).items():
                    self.follow(follow, _split_name(name), part[column])
            else:
                for name, time in rows.group_by(split).agg(pl.col(column).max()).iter_rows():
                    self._marks.move(follow, _split_name(name), time)

    def _by_split(self, rows: pl.DataFrame) -> Iterator[pl.DataFrame]:
        """The rows, split by split if a task follows their times."""
        if self.stage.split is None or not self.stage.by_split:
            yield rows
            return
        for (split,), part in rows.partition_by(self.stage.split, as_dict=True).items():
            self.split = _split_name(split)
            yield part


def _split_name(split: Any) -> str:
    return "" if split is None else str(split)
