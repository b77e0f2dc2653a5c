"""A user's function is called with rows; those that it fails on may be rejected."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

import millstream as ms
from millstream.engine.rows import TIME, with_time
from millstream.model.errors import RunError
from millstream.plan.records import record_text
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.tasks.call import Call
from millstream.spark.worker.tasks.task import Task


class Run:
    def __init__(self):
        self.rejected = []
        self.counts = Counts()

    def reject(self, step, rows, tasks):
        self.rejected += rows.select("step", "record").rows()


class Keeps(Task):
    def take(self, rows, run):
        self.rows = rows


def halved(row):
    return {"half": 10 // row["n"]}


def call(on_error):
    stream = ms.from_rows([], schema="n int").map(halved, "half int", on_error=on_error)
    last, run = Keeps(step="last"), Run()
    schema = pa.schema([("half", pa.int32())])
    task = Call(step="map", node=stream.node, schema=schema, then=[last])
    task.take(with_time(pl.DataFrame({"n": [5, 0, 2]}), time=pl.lit(7)), run)
    return last.rows, run


def test_results_have_the_time_of_their_row_and_failures_are_rejected():
    rows, run = call("reject")
    assert rows.select("half", TIME).rows() == [(2, 7), (5, 7)]
    assert run.rejected == [("map", record_text({"n": 0}))]
    assert [(e.split, e.value) for e in run.counts.envelopes(0)] == [("in", 3), ("out", 2)]


def test_a_failure_ends_the_job_otherwise():
    with pytest.raises(RunError, match="MS201.*halved"):
        call("fail")
