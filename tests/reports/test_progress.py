"""The progress of a job, as text and as a dict."""

from __future__ import annotations

import json
import subprocess
import sys
from datetime import UTC, datetime, timedelta

import pytest

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.reports.progress import AFTER_ALL, BEFORE_ALL, BatchReport, watermark_in_words
from millstream.reports.tracker import Tracker


def progress_of(report, now):
    """The progress of a running job after one batch."""
    tracker = Tracker()
    tracker.state("running")
    tracker.report(report)
    return tracker.progress(now)


def at(now, watermark):
    return progress_of(BatchReport(0, started=0, seconds=1, rows=0, watermark=watermark), now)


def test_the_watermark_is_behind_or_ahead_of_the_clock():
    behind, ahead = at(100, 87_500_000), at(100, 103_000_000)
    assert behind.watermark == datetime(1970, 1, 1, 0, 1, 27, 500_000, tzinfo=UTC)
    assert behind.watermark_lag == timedelta(seconds=12.5)
    assert watermark_in_words(behind) == "12s behind"
    assert ahead.watermark_lag == timedelta(seconds=-3)
    assert watermark_in_words(ahead) == "3s ahead"
    assert watermark_in_words(at(100, 99_500_000)) == "up to the clock"


@pytest.mark.parametrize(
    ("watermark", "moment", "words"),
    [
        (START_OF_TIME, BEFORE_ALL, "waiting for event times"),
        (END_OF_TIME, AFTER_ALL, "at the end"),
        (END_OF_TIME - 1, AFTER_ALL, "at the end"),
        (START_OF_TIME + 1, BEFORE_ALL, "waiting for event times"),
    ],
)
def test_at_an_end_of_time_the_watermark_can_be_compared_and_has_no_lag(watermark, moment, words):
    progress = at(100, watermark)
    assert progress.watermark == moment
    assert progress.watermark_lag is None
    assert watermark_in_words(progress) == words
    json.dumps(progress.to_dict())


def test_progress_fits_a_line():
    state = {"watermark": 0, "state_rows": 1, "state_bytes": 1_234_567}
    report = BatchReport(0, started=0, seconds=1, rows=1_000_000, late={"x": 3}, **state)
    assert str(progress_of(report, 200)) == (
        "running: 1 batch, 1,000,000 rows (5,025 rows/s), watermark 3m20s behind, "
        "state 1 row (1.2 MB), 3 late, 0 rejected"
    )


def test_progress_can_be_written_as_json():
    counts = {"rows": 10, "written": {"a": 2}, "late": {"x": 3}}
    report = BatchReport(4, started=1, seconds=0.25, watermark=1_000_000, **counts)
    assert json.loads(json.dumps(progress_of(report, 2.5).to_dict())) == {
        "state": "running",
        "error": None,
        "restarts": 0,
        "batches": 1,
        "rows": 10,
        "rows_per_second": 8.0,  # ten rows, and 1.25 s of silence since
        "last_batch_seconds": 0.25,
        "watermark": "1970-01-01T00:00:01+00:00",
        "watermark_lag_seconds": 1.5,
        "state_rows": 0,
        "state_bytes": 0,
        "splits": [],
        "waiting": None,
        "late": 3,
        "late_by_step": {"x": 3},
        "rejected": 0,
        "rejected_by_step": {},
        "lost": 0,
        "lost_by_step": {},
        "ahead": 0,
        "ahead_by_step": {},
        "written": {"a": 2},
        "steps": [],
    }


def test_values_load_neither_spark_nor_rich():
    program = "import sys, millstream.reports.tracker; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"rich", "pyspark", "polars"} & set(ran.stdout.split())
