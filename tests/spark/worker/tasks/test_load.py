"""Files that rows name are read, piece by piece, split by split."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from millstream.engine.rows import with_time
from millstream.spark.sources.loading import PATH
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.task import Task


class Run:
    split = ""

    def __init__(self):
        self.counts, self.work = Counts(), []

    def later(self, work):
        self.work.append(work)

    def reject(self, step, rows, tasks):
        assert not rows.height


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
