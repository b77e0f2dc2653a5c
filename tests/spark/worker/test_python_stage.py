"""A Python stage over a partition: slices begin where they must, and batches change no bytes."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

import polars as pl
import pyarrow as pa
import pytest

from millstream.engine.rows import SPLIT
from millstream.engine.state.blobs import packed
from millstream.spark.worker.envelopes import ARROW, Envelope, batches_of, envelopes_in
from millstream.spark.worker.python_stage import PackedStage, PythonStage
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.task import Task

ROWS = [("1", 1), ("1", 2), ("0", 3), ("orders-2", 4)]


@dataclass(kw_only=True)
class Sums(Task):
    """Sends the sum of the numbers of a slice when that ends."""

    ended: list = field(default_factory=list)
    aborted: bool = False

    def begin(self, run):
        self.sum, self.calls = 0, 0

    def expect(self, run):
        self.expected = True

    def take(self, rows, run):
        self.sum += rows["n"].sum()
        if self.sum > 100:
            raise ValueError(self.sum)

    def end(self, run):
        slice = run.slice
        place = f"{slice.number} {slice.name}".strip()
        run.output.send(Envelope(0, self.step, "receipt", split=place, value=self.sum))

    def abort(self):
        self.aborted = True


def stage(**how):
    task = Sums(step="sums")
    inputs = [(StepColumns({"n": "n"}), [task])]
    return PythonStage(schema=ARROW, inputs=inputs, tasks=[task], batch=5, **how)


def batch(rows=ROWS):
    return pa.RecordBatch.from_pydict({SPLIT: [s for s, _ in rows], "n": [n for _, n in rows]})


def sums(batches):
    made = [e for each in batches for e in envelopes_in(each)]
    return [(e.split, e.value) for e in made if e.kind == "receipt"]


def test_a_task_is_one_slice():
    assert sums(stage()([batch(), batch()])) == [("0", 20)]


def test_each_split_is_a_slice_with_its_own_number_where_splits_are():
    by_split = stage(slices="splits", split=SPLIT)
    assert sums(by_split([batch()])) == [("1", 3), ("0", 3), (name_of("orders-2"), 4)]


def name_of(split):
    """A split that is no number has a name, and a number that is made of it."""
    found = sums(stage(slices="splits", split=SPLIT)([batch([(split, 4)])]))
    ((place, _),) = found
    assert place.endswith(f" {split}")
    return place


def test_a_split_continues_in_the_next_record_batch():
    by_split = stage(slices="splits", split=SPLIT)
    assert sums(by_split([batch([("1", 1)]), batch([("1", 2), ("0", 3)])])) == [("1", 3), ("0", 3)]


def test_envelopes_of_a_sink_are_slices_by_the_origin_that_they_are_from():
    rows = packed(pl.DataFrame({"n": [1]}))
    origins = ("left/000000/000001", "left/000000/000002", "right/000001/000001")
    given = [Envelope(0, "out", "sink", split=each, payload=rows) for each in origins]
    task = Sums(step="sums")
    by_origin = PythonStage(
        schema=ARROW, sinks={"out": task}, tasks=[task], slices="origins", batch=5
    )
    made = sums(by_origin(batches_of(given)))
    assert [value for _, value in made] == [2, 1]
    assert [place.split(" ")[1] for place, _ in made] == ["left/000000", "right/000001"]


def test_a_partition_without_rows_still_ends():
    assert sums(stage()([])) == [("0", 0)]
    assert sums(stage(slices="splits", split=SPLIT)([batch([])])) == [("0", 0)]


def test_tasks_are_aborted_when_one_fails():
    made = stage()
    (task,) = made.tasks
    with pytest.raises(ValueError, match="200"):
        list(made([batch([("0", 200)])]))
    assert task.aborted


def test_envelopes_of_a_shard_are_taken_in_memory():
    task = Sums(step="sums")
    after = PythonStage(schema=ARROW, sinks={"out": task}, tasks=[task], batch=5)
    table = pl.DataFrame({"n": [3, 4]})
    others = Envelope(0, "counts", "count", split="late", value=1)
    made = list(after.after([Envelope(0, "out", "sink", rows=table), others], 3))
    assert task.expected
    assert [(e.kind, e.split, e.value) for e in made] == [("count", "late", 1), ("receipt", "3", 7)]


def test_the_bytes_of_a_stage_are_the_same_in_each_batch():
    first = stage()
    packs = [PackedStage(replace(first, batch=number)) for number in (5, 6)]
    assert packs[0]._stage == packs[1]._stage
    assert [pack._batch for pack in packs] == [5, 6]
    assert sums(packs[0]([batch()])) == [("0", 10)]
