"""Files that rows name are read, piece by piece, split by split."""

from __future__ import annotations

import polars as pl
import pyarrow as pa
import pytest

from millstream.engine.rows import with_time
from millstream.plan.layouts import layout_of
from millstream.spark.sources.loading import PATH
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.task import Task


class Run:
    """A run that keeps what is rejected, and works when it is asked to."""

    split = ""

    def __init__(self):
        self.counts, self.work, self.rejected = Counts(), [], []
        self.where = None

    def later(self, work):
        self.work.append(work)

    def reject(self, step, rows, tasks):
        self.rejected += rows["reason"].to_list()


class Keeps(Task):
    def begin(self, run):
        self.rows = []

    def take(self, rows, run):
        self.rows += [(run.split, *row) for row in rows.select("host", "n").rows()]


def test_the_rows_of_a_file_come_by_split_when_the_work_is_done(tmp_path):
    path = tmp_path / "1.parquet"
    pl.DataFrame({"host": ["x", "y", "x"], "n": [1, 2, 3]}).write_parquet(path)
    schema = pa.schema([("host", pa.string()), ("n", pa.int64())])
    run, last = Run(), Keeps(step="last")
    last.begin(run)
    below = len(tmp_path.parts)
    load = Load(
        step="files",
        below=below,
        schema=schema,
        layout=None,
        split="host",
        ordered=False,
        then=[last],
    )
    load.take(with_time(pl.DataFrame({PATH: [f"file:{path}"]})), run)
    assert last.rows == []
    for work in run.work:
        list(work)
    assert sorted(last.rows) == [("x", "x", 1), ("x", "x", 3), ("y", "y", 2)]
    assert [(count.split, count.value) for count in run.counts.envelopes(0)] == [("read", 3)]
    assert run.rejected == []


LINES = b'{"host": "x", "at": 1}\n\n{"host"\n{"host": "y"}\n{"host": "x"}\n{"host": "y", "at": 2}\n'


@pytest.mark.parametrize("split", [None, "host"])
def test_a_row_without_an_event_time_is_rejected_with_its_file_and_line(tmp_path, split):
    path = tmp_path / "1.json"
    path.write_bytes(LINES)
    schema = pa.schema([("host", pa.string()), ("at", pa.int64())])
    run, times = Run(), Time(step="times", column="at", follow=None, loaded=True)
    load = Load(
        step="files",
        below=len(tmp_path.parts),
        schema=schema,
        layout=layout_of("json", ()),
        split=split,
        ordered=False,
        then=[times],
    )
    load.take(with_time(pl.DataFrame({PATH: [f"file:{path}"]})), run)
    for work in run.work:
        list(work)
    malformed, *untimed = run.rejected
    assert "event time" not in malformed
    assert sorted(untimed) == [
        f"event time 'at': it is null, in line {line} of {path}" for line in (4, 5)
    ]


def test_of_a_file_without_lines_the_file_is_named(tmp_path):
    path = tmp_path / "1.parquet"
    pl.DataFrame({"at": [1, None]}).write_parquet(path)
    run, times = Run(), Time(step="times", column="at", follow=None, loaded=True)
    load = Load(
        step="files",
        below=len(tmp_path.parts),
        schema=pa.schema([("at", pa.int64())]),
        layout=None,
        split=None,
        ordered=False,
        then=[times],
    )
    load.take(with_time(pl.DataFrame({PATH: [str(path)]})), run)
    for work in run.work:
        list(work)
    assert run.rejected == [f"event time 'at': it is null, in the file {path}"]
