"""What the reports of micro-batches add up to."""

from __future__ import annotations

import threading
import time
from datetime import UTC, datetime

import pytest

from millstream.reports.progress import BatchReport
from millstream.reports.steps import Step, StepProgress
from millstream.reports.tracker import Tracker


def batch(number, *, rows=0, started=None, seconds=1.0, **others):
    """A batch that follows the one before it without a pause, unless it has its own start."""
    started = number * seconds if started is None else started
    return BatchReport(number, started=started, seconds=seconds, rows=rows, **others)


def tracker_of(*reports, state="running"):
    tracker = Tracker()
    tracker.state(state)
    for report in reports:
        tracker.report(report)
    return tracker


def test_a_job_that_has_done_nothing_reports_zeros():
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


def test_the_rate_of_a_job_that_has_ended_no_longer_fades():
    assert tracker_of(batch(0, rows=5), state="finished").progress(1000).rows_per_second == 5


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


STEPS = (
    Step("scores", "scores", "kafka", takes=True, gives=True),
    Step("filter-1", "filter-1", "filter", takes=False, gives=False),
    Step("totals", "totals", "aggregate", takes=True, gives=True),
    Step("sink:totals", "totals", "write_kafka", takes=True, gives=False),
)


def test_progress_is_that_of_each_step():
    tracker = Tracker(STEPS)
    for number in (0, 1):
        tracker.report(
            batch(
                number,
                rows=10,
                read={"scores": 10},
                rejected={"scores": 2},
                taken={"totals": 7},
                emitted={"totals": 3},
                written={"totals": 3},
                late={"totals": 1},
                watermarks={"totals": number * 1_000_000},
                state={"totals": (5 + number, 500)},
            )
        )
    scores, only, totals, sink = tracker.progress(2).steps
    assert scores == StepProgress("scores", "kafka", rows_in=20, rows_out=16, rejected=4)
    assert only == StepProgress("filter-1", "filter")  # Spark computes it, and nobody counts
    assert totals == StepProgress(
        "totals", "aggregate", rows_in=14, rows_out=6, late=2, state_rows=6, state_bytes=500,
        watermark=datetime(1970, 1, 1, 0, 0, 1, tzinfo=UTC),
    )  # fmt: skip
    assert sink == StepProgress("sink:totals", "write_kafka", rows_in=6)


def test_the_callback_that_took_longest_in_the_last_batch_is_named():
    tracker = Tracker((Step("silent", "silent", "process", takes=True, gives=True),))
    tracker.report(batch(0, calls={"silent": {"on_row": 9.0}}))
    tracker.report(batch(1, calls={"silent": {"on_row": 0.5, "on_timer": 3.21}}))
    progress = tracker.progress(2)
    assert (progress.steps[0].callback, progress.steps[0].callback_seconds) == ("on_timer", 3.21)
    assert str(progress).endswith("on_timer of 'silent' 3.2 s a batch")


def test_listeners_get_each_batch_and_each_other_change():
    tracker, got = Tracker(), []
    tracker.subscribe(got.append)
    tracker.state("running")
    tracker.report(batch(0))
    tracker.fail("ValueError")
    tracker.fail("another, too late")
    assert got == [None, batch(0), None]
