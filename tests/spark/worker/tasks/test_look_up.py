"""Rows are looked up in columns: each key once, and rows keep their order, times and kinds."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pyarrow as pa
import pytest

import millstream as ms
from millstream.engine.rows import SIGN, TIME, with_time
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.tasks import look_up
from millstream.spark.worker.tasks.look_up import LookUp
from millstream.spark.worker.tasks.task import Task

ROWS = pl.DataFrame({"user": ["bob", "ann", None, "ann"], "n": [1, 2, 3, 4]})


class Keeps(Task):
    def take(self, rows, run):
        self.rows = rows


def looked_up(table, **options):
    stream = ms.from_rows([], schema="user string, n int")
    node = stream.lookup(table, on="user", schema="city string", **options).node
    last, run = Keeps(step="last"), SimpleNamespace(counts=Counts())
    schema = pa.schema([("city", pa.large_string())])
    task = LookUp(step="lookup", node=node, schema=schema, job="job", then=[last])
    task.begin(run)
    task.take(with_time(ROWS, time=pl.col("n") * 10, sign=pl.lit(-1)), run)
    return last.rows, run


@pytest.fixture(autouse=True)
def _nothing_is_open(monkeypatch):
    monkeypatch.setattr(look_up, "_OPEN", {})


def test_rows_keep_their_order_times_and_kinds():
    rows, run = looked_up({"ann": "Oslo"})
    assert rows.select("n", "city", TIME, SIGN).rows() == [
        (1, None, 10, -1),
        (2, "Oslo", 20, -1),
        (3, None, 30, -1),
        (4, "Oslo", 40, -1),
    ]
    assert [(e.split, e.value) for e in run.counts.envelopes(0)] == [("in", 4), ("out", 4)]


def test_rows_that_are_missing_may_be_dropped():
    rows, _ = looked_up({"ann": "Oslo"}, missing="drop")
    assert rows["n"].to_list() == [2, 4]


def test_nothing_may_be_found_at_all():
    rows, _ = looked_up({})
    assert rows["city"].to_list() == [None] * 4


def test_a_function_keeps_what_it_has_found_from_task_to_task():
    asked = []

    def cities(users):
        asked.extend(users)
        return dict.fromkeys(users, "Oslo")

    for _ in range(2):
        looked_up(cities, cache="1h")
    assert asked == ["bob", "ann"]
