"""What the tasks of a batch report is committed and added up."""

from __future__ import annotations

import pyarrow as pa
import pytest
from pyspark.sql import Row

import millstream as ms
from millstream.model.errors import RunError
from millstream.reports.samples import Sample
from millstream.reports.tracker import Tracker
from millstream.sinks.fence import Fence
from millstream.sinks.memory import Rows
from millstream.spark.driver.ledger import Ledger
from millstream.spark.driver.shard_progress import ShardProgress

ALL = ms.from_rows([(1,)], "n int").collect("all")


def row(kind, node, **values):
    empty = dict.fromkeys(("shard", "start", "split", "value", "elements", "payload"))
    return Row(**{"kind": kind, "node": node, **empty, **values})


def receipt(*numbers):
    packed = Rows(0, len(numbers), pa.table({"n": numbers})).packed()
    return row("receipt", "all", elements=len(numbers), payload=packed)


def count(what, value, node="step", shard=0):
    return row("count", node, split=what, value=value, shard=shard)


def ledger(**how):
    return Ledger("run", ALL.sinks, Tracker(), **how)


def test_rows_are_kept_and_counts_of_all_tasks_add_up():
    made = ledger()
    counts = [count("read", 5), count("read", 3), count("late", 1), count("rejected", 2, "parse")]
    made.settle(0, [receipt(1, 2), *counts], started=10.0, lost={"scores": 4}, ended=12.5)
    progress = made.tracker.progress()
    assert (progress.rows, progress.written) == (8, {"all": 2})
    assert progress.late_by_step == {"step": 1}
    assert progress.rejected_by_step == {"parse": 2}
    assert progress.lost_by_step == {"scores": 4}
    assert progress.last_batch_seconds == 2.5
    assert made.rows("all") == [{"n": 1}, {"n": 2}]


def test_samples_of_all_tasks_are_reported_with_the_batch():
    made, reports = ledger(), []
    made.tracker.subscribe(reports.append)
    sample = row("sample", "parse", split="rejected", payload=b'[{"reason": "no number"}]')
    made.settle(0, [sample, sample], started=0.0)
    assert reports[0].samples == (Sample("parse", "rejected", {"reason": "no number"}),) * 2


def test_a_watermark_is_the_least_of_all_shards_and_their_state_adds_up():
    made = ledger()
    marks = [count("watermark", 7_000_000, shard=0), count("watermark", 5_000_000, shard=1)]
    made.settle(0, [*marks, count("state_rows", 3), count("state_rows", 4, shard=1)], started=0.0)
    made.settle(1, [count("watermark", 9_000_000, shard=1)], started=0.0)
    progress = made.tracker.progress()
    assert progress.watermark.timestamp() == 7.0
    assert progress.state_rows == 7


def test_a_job_that_resumes_shows_where_it_was_before_its_first_batch():
    before = ShardProgress()
    before.take(count("watermark", 7_000_000))
    assert ledger(shards=before).tracker.progress().watermark.timestamp() == 7.0
    assert ledger().tracker.progress().watermark is None


def test_of_sinks_that_are_committed_elsewhere_only_those_that_are_shown_are_here():
    rows = ms.from_rows([(1,)], "n int")
    sinks = ms.pipeline(rows.collect("all"), rows.write_files("/out", name="files")).sinks
    made = Ledger("a1b2c3d4", sinks, Tracker(), elsewhere=True)
    made.settle(0, [receipt(1)], started=0.0)
    assert made.rows("all") == [{"n": 1}]
    assert list(made._commits.committers) == ["all"]


def test_nothing_is_counted_that_is_not_committed(tmp_path):
    (tmp_path / "0000000002.json").write_text('{"token": "theirs"}')
    made = ledger(fence=Fence("job", str(tmp_path), 1, "ours"))
    with pytest.raises(RunError, match="MS351"):
        made.settle(0, [receipt(1), count("read", 5)], started=0.0)
    assert made.tracker.progress().batches == 0
