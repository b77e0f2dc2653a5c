"""What the reports of micro-batches add up to."""

from __future__ import annotations

import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta

import pytest

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.reports.progress import (
    AFTER_ALL,
    BEFORE_ALL,
    BatchReport,
    Tracker,
    length_in_words,
    watermark_in_words,
)


def batch(number, *, rows=0, started=None, seconds=1.0, **others):
    """A batch that follows the one before it without a pause, unless told otherwise."""
    started = number * seconds if started is None else started
    return BatchReport(number, started=started, seconds=seconds, rows=rows, **others)


def tracker_of(*reports, state="running"):
    tracker = Tracker()
    tracker.state(state)
    for report in reports:
        tracker.report(report)
    return tracker


def at(now, watermark):
    return tracker_of(batch(0, watermark=watermark)).progress(now)


def test_a_job_that_has_done_nothing_has_nothing_to_tell():
    progress = Tracker().progress()
    assert str(progress) == "starting: 0 batches, 0 rows (0 rows/s), 0 late, 0 rejected"
    assert progress.last_batch_seconds is None
    assert progress.watermark is None
    assert progress.watermark_lag is None
    assert not progress.over


def test_counts_add_up_and_sizes_are_those_of_the_last_batch():
    progress = tracker_of(
        batch(0, rows=10, written={"a": 1}, late={"x": 2}, state_rows=9, state_bytes=900),
        batch(1, rows=20, written={"a": 3, "b": 0}, late={"y": 5}, rejected={"parse": 1}),
        batch(2, rows=30, late={"x": 4}, state_rows=7, state_bytes=700, seconds=0.5),
    ).progress(3)
    assert (progress.batches, progress.rows, progress.recent_rows) == (3, 60, (10, 20, 30))
    assert progress.written == {"a": 4, "b": 0}
    assert (progress.late, progress.late_by_step) == (11, {"x": 6, "y": 5})
    assert (progress.rejected, progress.rejected_by_step) == (1, {"parse": 1})
    assert (progress.state_rows, progress.state_bytes) == (7, 700)
    assert progress.last_batch_seconds == 0.5


def test_a_batch_that_is_redone_takes_the_place_of_the_first_try():
    tracker = tracker_of(
        batch(0, rows=10, written={"a": 1}, late={"x": 2}),
        batch(1, rows=10, written={"a": 5}, late={"x": 3}),
        batch(1, rows=12, written={"a": 6}, rejected={"y": 1}),
    )
    progress = tracker.progress(2)
    assert (progress.batches, progress.rows) == (2, 22)
    assert (progress.written, progress.late, progress.rejected) == ({"a": 7}, 2, 1)


def test_reports_that_overtake_one_another_are_put_in_order():
    progress = tracker_of(batch(1, rows=7, state_rows=70), batch(0, rows=5)).progress(2)
    assert (progress.recent_rows, progress.state_rows) == ((5, 7), 70)


def test_a_long_job_keeps_its_totals_and_forgets_its_batches():
    tracker = tracker_of(*(batch(number, rows=1, written={"a": 2}) for number in range(1000)))
    tracker.report(batch(0, rows=1, written={"a": 2}))
    progress = tracker.progress(1000)
    assert (progress.batches, progress.rows, progress.written) == (1000, 1000, {"a": 2000})
    assert len(progress.recent_rows) < 100


def test_a_resumed_job_counts_from_where_it_was_resumed():
    assert tracker_of(batch(57, rows=3, started=0)).progress(1).batches == 1


@pytest.mark.parametrize(
    ("reports", "now", "rate"),
    [
        pytest.param([batch(0, rows=300, seconds=2)], 2, 150, id="one batch"),
        pytest.param([batch(0, rows=0, seconds=0)], 0, 0, id="a batch that took no time"),
        pytest.param(
            [batch(0, rows=300), batch(1), batch(2)], 3, 100, id="batches without rows take time"
        ),
        pytest.param(
            [batch(n, rows=60, started=60 * n) for n in range(20)],
            1141,
            300 / 241,
            id="rare batches: the last five, and the time between them",
        ),
        pytest.param(
            [batch(n, rows=1000 if n < 20 else 10) for n in range(60)],
            60,
            10,
            id="many batches: those of the last 30 seconds",
        ),
        pytest.param([batch(0, rows=300)], 1.9, 300, id="a batch may be under way"),
        pytest.param([batch(0, rows=300)], 31, 10, id="silence"),
    ],
)
def test_the_rate_is_that_of_late(reports, now, rate):
    assert tracker_of(*reports).progress(now).rows_per_second == pytest.approx(rate)


def test_the_rate_of_a_job_that_is_over_no_longer_fades():
    assert tracker_of(batch(0, rows=5), state="finished").progress(1000).rows_per_second == 5


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


@pytest.mark.parametrize(
    ("length", "words"),
    [
        (timedelta(seconds=59.9), "59s"),
        (timedelta(minutes=3, seconds=20), "3m20s"),
        (timedelta(hours=2, minutes=5, seconds=9), "2h5m"),
        (timedelta(days=29, hours=23), "29d23h"),
        (timedelta(days=40, hours=23), "40d"),
        (timedelta(days=365.25 * 56), "56 years"),
    ],
)
def test_a_length_of_time_is_told_in_at_most_two_units(length, words):
    assert length_in_words(length) == words


def test_progress_fits_a_line():
    report = batch(
        0, rows=1_000_000, late={"x": 3}, watermark=0, state_rows=1, state_bytes=1_234_567
    )
    assert str(tracker_of(report).progress(200)) == (
        "running: 1 batch, 1,000,000 rows (5,025 rows/s), watermark 3m20s behind, "
        "state 1 row (1.2 MB), 3 late, 0 rejected"
    )


def test_progress_can_be_written_as_json():
    report = batch(
        4, rows=10, seconds=0.25, started=1, written={"a": 2}, late={"x": 3}, watermark=1_000_000
    )
    assert json.loads(json.dumps(tracker_of(report).progress(2.5).to_dict())) == {
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
    }


def test_progress_does_not_change_once_taken():
    tracker = tracker_of(batch(0, written={"a": 1}))
    before = tracker.progress(1)
    tracker.report(batch(1, written={"a": 1}))
    assert before.written == {"a": 1}
    assert before == tracker_of(batch(0, written={"a": 1})).progress(1)


def test_a_state_never_goes_back():
    tracker = Tracker()
    tracker.state("stopping")
    tracker.state("running")
    assert tracker.progress().state == "stopping"
    tracker.state("stopped")
    tracker.state("failed")
    assert tracker.progress().state == "stopped"
    assert tracker.progress().over


@pytest.mark.parametrize(
    "change", [lambda t: t.state("running"), lambda t: t.report(batch(0))], ids=["state", "report"]
)
def test_a_change_wakes_who_waits_for_it(change):
    tracker = Tracker()
    began = time.monotonic()
    threading.Timer(0.3, change, [tracker]).start()
    tracker.wait_for_change(60)
    assert time.monotonic() - began < 30


def test_waiting_ends_without_a_change_too():
    Tracker().wait_for_change(0.01)


def test_reports_of_many_threads_all_count():
    tracker = Tracker()

    def report(first):
        for number in range(first, first + 8):
            tracker.report(batch(number, rows=1, written={"a": 1}))
            tracker.progress()

    threads = [threading.Thread(target=report, args=(8 * n,)) for n in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    progress = tracker.progress()
    assert (progress.batches, progress.rows, progress.written) == (64, 64, {"a": 64})


def test_values_load_neither_spark_nor_rich():
    program = "import sys, millstream.reports.progress; print(*sys.modules)"
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True
    )
    assert not {"rich", "pyspark", "polars"} & set(ran.stdout.split())
