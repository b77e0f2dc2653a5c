"""A streaming job follows its query in a thread: to its end, through losses, until it is stopped.

The query is one that a test plays; whole programs have Spark's.
"""

from __future__ import annotations

import threading
from types import SimpleNamespace

import pytest

import millstream as ms
from millstream.model.errors import RunError
from millstream.physical.plan import physical
from millstream.reports.tracker import Tracker
from millstream.spark.batches.commits import Stopped
from millstream.spark.driver import streaming_job
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.ledger import Ledger
from millstream.spark.driver.streaming_job import StreamingJob
from waiting import until

LOSS = "Python worker exited unexpectedly (crashed)"


class Query:
    """A query that runs until a test, or the job, ends it."""

    lastProgress = None  # noqa: N815 - Spark's name

    def __init__(self, error=None):
        self.ended = threading.Event()
        self.error = error
        self.in_a_batch = False
        self.stops = self.asked = 0
        if error is not None:
            self.ended.set()

    @property
    def isActive(self):  # noqa: N802
        return not self.ended.is_set()

    @property
    def status(self):
        self.asked += 1
        return {"isTriggerActive": self.in_a_batch}

    def awaitTermination(self):  # noqa: N802
        if self.error is not None:
            raise self.error

    def processAllAvailable(self):  # noqa: N802
        if self.error is not None:
            raise self.error

    def stop(self):
        self.stops += 1
        self.ended.set()


@pytest.fixture
def start(monkeypatch, tmp_path):
    """Starts a job whose queries are these, one after another."""
    jobs = []

    def start(*queries, restarts=3):
        left = list(queries)

        def fake(*_):
            return SimpleNamespace(
                ends=False, by_clock=False, start=lambda batch: left.pop(0), last=None
            )

        monkeypatch.setattr(streaming_job, "QueryStart", fake)
        monkeypatch.setattr(streaming_job.Restarts, "pause", brief(streaming_job.Restarts.pause))
        plan = physical(ms.from_rows([(1,)], "n int").collect("all").sinks)
        folder = tmp_path / f"{len(jobs)}"
        folder.mkdir()
        checkpoint = Checkpoint("job", str(folder), "run", [0], None, fleeting=True)
        ledger = Ledger("run", plan.sinks, Tracker())
        jobs.append(StreamingJob("job", plan, None, ledger, checkpoint, None, {}, restarts))
        return jobs[-1]

    yield start
    for job in jobs:
        job.abandon()


def brief(pause):
    return lambda self: None if pause(self) is None else 0.001


def progress(job):
    return job._ledger.tracker.progress()


def test_a_query_that_ends_by_itself_has_finished(start):
    query = Query()
    job = start(query)
    assert not job.over
    query.ended.set()
    job.join()
    assert progress(job).state == "finished"


def test_an_error_ends_the_job_and_is_its_outcome(start):
    query = Query()
    job = start(query)
    query.error = ValueError("no such team")
    query.ended.set()
    job.join()
    with pytest.raises(ValueError, match="no such team"):
        job.outcome.check()
    assert progress(job).state == "failed"
    assert query.stops, "nothing of it is left running"


def test_a_process_that_is_lost_restarts_the_query(start):
    last = Query()
    job = start(Query(RuntimeError(LOSS)), Query(RuntimeError(LOSS)), last)
    last.ended.set()
    job.join()
    assert (progress(job).state, progress(job).restarts) == ("finished", 2)


def test_a_process_that_is_lost_too_often_ends_the_job(start):
    job = start(Query(RuntimeError(LOSS)), Query(RuntimeError(LOSS)), restarts=1)
    job.join()
    with pytest.raises(RunError, match="MS223: a Python worker has died, after 1 restart"):
        job.outcome.check()
    assert progress(job).state == "failed"


def test_a_job_that_is_stopped_ends_between_two_batches(start):
    query = Query()
    query.in_a_batch = True
    job = start(query)
    job.stop()
    assert progress(job).state == "stopping"
    until(lambda: query.asked > 1)
    assert not query.stops
    query.in_a_batch = False
    job.join()
    assert progress(job).state == "stopped"


def test_a_batch_that_did_not_begin_since_the_job_is_to_stop_is_no_failure(start):
    query = Query()
    query.in_a_batch = True
    job = start(query)
    job.stop()
    query.error = RuntimeError(f"… {Stopped.__module__}.{Stopped.__qualname__}: …")
    query.ended.set()
    job.join()
    assert progress(job).state == "stopped"
    job.outcome.check()


def test_a_job_that_is_abandoned_breaks_its_query_off(start):
    query = Query()
    query.in_a_batch = True
    job = start(query)
    job.abandon()
    job.join()
    assert query.stops
    assert progress(job).state == "stopped"


def test_waiting_for_all_input_continues_after_a_restart_and_ends_with_the_job(start):
    first, second = Query(), Query()
    job = start(first, second)
    job.process_all()
    first.error = RuntimeError(LOSS)
    first.ended.set()
    job.process_all()
    assert progress(job).restarts == 1
    second.error = ValueError("no such team")
    second.ended.set()
    with pytest.raises(ValueError, match="no such team"):
        job.process_all()
