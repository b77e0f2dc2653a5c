"""A Python stage: users' functions, and all that happens before a shuffle or a sink.

A Python stage is called once for each partition, with all of its record batches. These contain the
rows of several steps side by side (see ``step_columns.py``), or envelopes. Each step's rows go
through its tasks (``tasks/``). They make envelopes for the next shuffle, or rows for the next JVM
stage.
"""

from __future__ import annotations

import pickle
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from functools import lru_cache
from typing import Literal

import pyarrow as pa
import pyarrow.compute as pc
from pyspark import TaskContext

from millstream.model.time_units import TimeUnit
from millstream.spark.sources.kafka_source import Records
from millstream.spark.worker.emitted import Emitted
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.pickling import pickled
from millstream.spark.worker.stage_run import StageRun
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.task import Task

SliceBy = Literal["tasks", "splits", "origins"]


@dataclass(frozen=True)
class RejectColumn:
    """A column of what the JVM has rejected: the reason, and in a new line the record."""

    step: str
    column: str
    tasks: list[Task]


@lru_cache(maxsize=64)
def _unpacked(stage: bytes) -> PythonStage:
    """A worker makes a stage ready once, not for each batch."""
    made: PythonStage = pickle.loads(stage)
    return made


class PackedStage:
    """A Python stage on its way to the workers."""

    def __init__(self, stage: PythonStage) -> None:
        self._stage = pickled(replace(stage, batch=None))  # the same bytes for each batch
        self._batch = stage.batch
        self.in_turn = stage.slices == "splits"
        """Whether the rows of a split must end before those of another begin."""

    def __call__(
        self, batches: Iterable[pa.RecordBatch], records: Records | None = None
    ) -> Iterator[pa.RecordBatch]:
        return replace(_unpacked(self._stage), batch=self._batch)(batches, records)


@dataclass(frozen=True)
class UnitColumn:
    """The event times of a step, which the JVM made of numbers of a unit in the column ``name``."""

    step: str
    column: str
    name: str
    unit: TimeUnit


@dataclass(kw_only=True)
class PythonStage:
    """All that Python does between two JVM stages, or between one and a shuffle or the sinks."""

    schema: pa.Schema
    """The columns of what it makes."""
    inputs: list[tuple[StepColumns, list[Task]]] = field(default_factory=list)
    """Where the rows of each step are, and the tasks that take them."""
    emitted: dict[tuple[str, str], Emitted] = field(default_factory=dict)
    """What operators emit for it, by step and tag."""
    sinks: dict[str, Task] = field(default_factory=dict)
    """In the last stage, the tasks for the rows of sinks."""
    tasks: list[Task] = field(default_factory=list)
    """All tasks, each before those that it gives rows to."""
    follows: list[Follow] = field(default_factory=list)
    """Columns of event times that watermarks follow."""
    rejects: list[RejectColumn] = field(default_factory=list)
    untimed: dict[str, str] = field(default_factory=dict)
    """Columns of times, by step: a row with a null in one was rejected, and nothing reads it."""
    units: list[UnitColumn] = field(default_factory=list)
    """Columns of times whose numbers may be of another unit than the program says."""
    labels: list[int] = field(default_factory=list)
    """The names of the shards."""
    split: str | None = None
    """The column that contains the split of each row, if there is one."""
    ends: list[str] = field(default_factory=list)
    """Watermarks that have reached the end of time when the partition ends."""
    source: str | None = None
    """The source whose rows are counted here, as they arrive."""
    origin: str = ""
    """The source that all rows are from, if that is one."""
    slices: SliceBy = "tasks"
    """What is a slice of its own: what a task has, or each split, or each origin of envelopes."""
    by_split: bool = False
    """Whether tasks take the rows of one split at a time."""
    numbered: bool = False
    """Whether rows get their places here: they have none, and an operator needs their order."""
    run: str = ""
    """The id of the job's life."""
    owner: str = ""
    """The process that owns the job's checkpoint."""
    batch: int | None = None
    """The number of the batch, if the driver knows it; else Spark gives it to the task."""
    clock: int | None = None
    """The clock, if it is the same for all that this ever runs over; else that of the batch."""

    def __call__(
        self, batches: Iterable[pa.RecordBatch], records: Records | None = None
    ) -> Iterator[pa.RecordBatch]:
        """Runs over a partition; ``records`` are Kafka's, where these are read here."""
        context = TaskContext.get()
        number = context.partitionId() if context else 0
        run = StageRun(self, number, records)
        with run.careful():
            for batch in batches:
                for place, part in self._places(batch):
                    if place is not None and run.place not in (None, place):
                        run.end()
                        yield from run.output.batches()
                        run = StageRun(self, number, records)
                    run.is_of(place)
                    run.take(part)
                    yield from run.output.batches()
                    for _ in run.queued():
                        yield from run.output.batches()
            run.end()
            yield from run.output.batches()

    def after(self, made: Iterable[Envelope], number: int) -> Iterator[Envelope]:
        """Runs over envelopes that a stateful stage has made, in the shard of that number."""
        run = StageRun(self, number)
        for task in self.tasks:
            task.expect(run)
        with run.careful():
            for envelope in made:
                run.open(envelope)
                yield from run.output.envelopes()
            run.end()
            yield from run.output.envelopes()

    def _places(self, batch: pa.RecordBatch) -> Iterator[tuple[str | None, pa.RecordBatch]]:
        """The rows by what they are slices of; one task may have several of these, one by one."""
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
