"""What the tasks of a Python stage share while they take the rows of one partition."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest
from pyspark import TaskContext

import millstream as ms
from millstream.engine.rows import PLACE, SPLIT, TIME
from millstream.model.instants import END_OF_TIME
from millstream.spark.worker.envelopes import ARROW, Envelope
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.python_stage import PythonStage, RejectColumn
from millstream.spark.worker.stage_run import StageRun
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.task import Task

S = 1_000_000


class Keeps(Task):
    """Keeps what it takes, each with the split that it is of."""

    def begin(self, run):
        self.taken = []

    def take(self, rows, run):
        self.taken.append((run.split, rows))

    def numbers(self):
        return [(split, rows["n"].to_list()) for split, rows in self.taken]


def run_of(number=0, **how):
    task = Keeps(step="keeps")
    how = {"labels": [10, 11], "origin": "source", "run": "run", **how}
    made = PythonStage(
        schema=ARROW, inputs=[(StepColumns({"n": "n"}, flag="f"), [task])], tasks=[task], **how
    )
    return StageRun(made, number), task


def batch(**columns):
    return pa.RecordBatch.from_pydict({"f": [True] * len(next(iter(columns.values()))), **columns})


def sent(run, kind):
    run.end()
    return [e for e in run.output.envelopes() if e.kind == kind]


FOLLOW = Follow("times", "source/times", "t", ms.bounded("2s"), None)


def test_steps_take_their_rows_and_the_source_counts_all():
    run, task = run_of(source="source")
    run.take(pa.RecordBatch.from_pydict({"f": [True, False], "n": [1, 2]}))
    assert task.numbers() == [("", [1])]
    assert [(e.node, e.split, e.value) for e in sent(run, "count")] == [("source", "read", 2)]


def test_rows_come_by_split_where_a_task_follows_their_times():
    columns = {"n": [1, 2, 3], SPLIT: ["x", "y", "x"]}
    run, task = run_of(split=SPLIT, by_split=True)
    run.take(batch(**columns))
    assert sorted(task.numbers()) == [("x", [1, 3]), ("y", [2])]
    run, task = run_of(split=SPLIT)
    run.take(batch(**columns))
    assert task.numbers() == [("", [1, 2, 3])]


def test_watermarks_follow_the_newest_time_of_each_split_for_every_shard():
    run, _ = run_of(split=SPLIT, follows=[FOLLOW])
    run.take(batch(n=[1, 2, 3], t=[5 * S, None, 9 * S], **{SPLIT: ["x", "y", "x"]}))
    marks = [(e.shard, e.node, e.split, e.value) for e in sent(run, "mark")]
    assert sorted(marks) == [(10, "source/times", "x", 7 * S), (11, "source/times", "x", 7 * S)]


def test_times_too_far_ahead_of_the_clock_move_nothing_and_are_counted():
    follow = Follow("times", "source/times", "t", ms.bounded("2s"), 60 * S)
    run, _ = run_of(split=SPLIT, follows=[follow], clock=100 * S)
    run.take(batch(n=[1, 2], t=[90 * S, 500 * S], **{SPLIT: ["x", "x"]}))
    run.end()
    made = run.output.envelopes()
    assert {e.value for e in made if e.kind == "mark"} == {88 * S}
    (ahead,) = [e for e in made if e.split == "ahead"]
    assert (ahead.value, ahead.start) == (1, 500 * S)
    assert ahead.payload == b"source 'source', split 'x'. They move no watermark"


def test_a_source_that_ends_moves_its_watermarks_to_the_end_of_time():
    run, _ = run_of(ends=["source/times"])
    assert {(e.split, e.value) for e in sent(run, "mark")} == {("", END_OF_TIME)}


def test_what_the_jvm_rejects_goes_to_the_tasks_of_rejected_rows_and_is_counted():
    bad = Keeps(step="bad")
    run, _ = run_of(rejects=[RejectColumn("parse", "why", [bad])], untimed={"times": "t"})
    bad.begin(run)
    why = [None, 'not a\nnumber\n{"n":"x"}']
    run.take(batch(n=[1, 2], why=why, t=[None, 5]))
    ((_, rows),) = bad.taken
    columns = ["step", "reason", "record"]
    assert rows.select(columns).rows() == [("parse", "not a\nnumber", '{"n":"x"}')]
    counts = {(e.node, e.split): e.value for e in sent(run, "count")}
    assert counts == {("parse", "rejected"): 1, ("times", "rejected"): 1}


def test_rows_are_numbered_on_through_a_partition_where_they_have_no_place():
    run, task = run_of(number=3, numbered=True)
    for n in (1, 2):
        run.take(batch(n=[n]))
    places = [place for _, rows in task.taken for place in rows[PLACE].to_list()]
    assert places == [
        {"origin": "source", "split": "000003", "offset": 0},
        {"origin": "source", "split": "000003", "offset": 1},
    ]


def test_envelopes_for_other_stages_are_passed_on():
    run, _ = run_of()
    sink = Keeps(step="out")
    sink.begin(run)
    run.stage.sinks["out"] = sink
    rows = pl.DataFrame({"n": [4]})
    for envelope in (
        Envelope(10, "out", "sink", rows=rows),
        Envelope(10, "elsewhere", "sink", rows=rows),
        Envelope(10, "counts", "emit", port="late", rows=rows),
    ):
        run.open(envelope)
    assert sink.numbers() == [("", [4])]
    assert sink.taken[0][1][TIME].to_list() == [None]
    made = run.output.envelopes()
    assert [(e.node, e.rows is None, e.table()["n"].to_list()) for e in made] == [
        ("elsewhere", True, [4]),
        ("counts", True, [4]),
    ]


def test_queued_work_is_done_piece_by_piece_in_its_order():
    run, done = run_of()[0], []

    def work(name):
        for piece in range(2):
            done.append((name, piece))
            yield

    run.later(work("a"))
    run.later(work("b"))
    queued = run.queued()
    next(queued)
    assert done == [("a", 0)]
    list(queued)
    assert done == [("a", 0), ("a", 1), ("b", 0), ("b", 1)]


def test_names_of_what_is_sent_sort_by_origin_partition_and_order():
    run, _ = run_of(number=12)
    assert [run.next_origin(), run.next_origin()] == [
        "source/000012/000001",
        "source/000012/000002",
    ]
    assert (run.home(), run_of(number=13)[0].home()) == (10, 11)


def test_a_slice_has_the_number_of_its_split_if_that_is_known():
    run, _ = run_of(number=3, batch=8)
    assert (run.slice.batch, run.slice.number, run.slice.name) == (8, 3, "")
    run, _ = run_of(number=3, batch=8)
    run.is_of("5")
    run.is_of("6")
    assert (run.slice.number, run.slice.name, run.output.split) == (5, "", "5")


def test_a_slice_has_the_batch_and_attempt_of_its_task(monkeypatch):
    properties = {"streaming.sql.batchId": "9", "spark.millstream.run.moment": "9 77"}
    context = SimpleNamespace(taskAttemptId=lambda: 4, getLocalProperty=properties.get)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    run, _ = run_of()
    assert (run.slice.batch, run.slice.attempt, run.clock) == (9, 4, 77)


def test_all_tasks_are_aborted_if_one_fails():
    run, task = run_of()
    task.abort = lambda: task.taken.append("aborted")
    with pytest.raises(KeyboardInterrupt), run.careful():
        raise KeyboardInterrupt
    assert task.taken == ["aborted"]
