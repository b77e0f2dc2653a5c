"""A batch runs only while its job is to run, and is settled once it is written."""

from __future__ import annotations

from types import SimpleNamespace

import pytest

from millstream.spark.batches.commits import Stopped
from millstream.spark.connect import SettledBatch
from millstream.spark.driver import job_batches
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.job_batches import JobBatches, StopRequest

NO_LOOKUPS = SimpleNamespace(announce=lambda *_: None)
START = SimpleNamespace(announces_clock=False, last=None, lookups=NO_LOOKUPS)
CLOCKED = SimpleNamespace(announces_clock=True, last=None, lookups=NO_LOOKUPS)


class Ledger:
    def __init__(self):
        self.settled = []

    def settle(self, batch, rows, started, lost, ended=None):
        self.settled.append((batch, rows, dict(lost), ended))


class Frame:
    sparkSession = "session"  # noqa: N815 - Spark's name

    def __init__(self, rows):
        self._rows = rows

    def collect(self):
        if isinstance(self._rows, Exception):
            raise self._rows
        return self._rows


@pytest.fixture
def job(tmp_path):
    stop, ledger = StopRequest(), Ledger()
    checkpoint = Checkpoint("job", str(tmp_path), "run", [0], None, fleeting=True)
    batches = JobBatches(ledger, checkpoint, {}, [], stop)
    return SimpleNamespace(batches=batches, ledger=ledger, stop=stop)


def test_a_batch_that_is_written_is_settled(job):
    job.batches.run(START, Frame(["row"]), 3)
    assert job.ledger.settled == [(3, ["row"], {}, None)]
    assert job.batches.last_settled == 3


def test_no_batch_begins_once_the_job_is_to_stop(job):
    job.stop.asked.set()
    with pytest.raises(Stopped):
        job.batches.run(START, Frame(["row"]), 0)
    assert job.ledger.settled == []


def test_a_batch_that_fails_raises_unless_it_was_broken_off(job):
    failing = Frame(ValueError("a worker"))
    with pytest.raises(ValueError, match="a worker"):
        job.batches.run(START, failing, 0)
    job.stop.at_once = True
    with pytest.raises(Stopped):
        job.batches.run(START, failing, 0)
    assert job.ledger.settled == []


def test_the_clock_of_a_batch_is_announced_where_tasks_need_it(job, monkeypatch):
    announced = []
    monkeypatch.setattr(job_batches, "announce", lambda *given: announced.append(given))
    job.batches.run(START, Frame([]), 0)
    assert announced == []
    job.batches.run(CLOCKED, Frame([]), 1)
    ((session, run, _, number),) = announced
    assert (session, run, number) == ("session", "run", 1)


def test_what_was_lost_before_the_first_batch_is_counted_once(job):
    job.batches._lost_before.update({"scores": 4})
    for number in (0, 1):
        job.batches.run(START, Frame([]), number)
    assert [lost for _, _, lost, _ in job.ledger.settled] == [{"scores": 4}, {}]


def test_batches_of_a_server_are_settled_with_their_own_times_and_losses(job):
    done = [SettledBatch(batch, 1.0, 2.0, ["row"], {"scores": batch}) for batch in (5, 6)]
    job.batches.settle_remote(SimpleNamespace(committed=lambda: iter(done)))
    assert job.ledger.settled == [
        (5, ["row"], {"scores": 5}, 2.0),
        (6, ["row"], {"scores": 6}, 2.0),
    ]
    assert job.batches.last_settled == 6


def test_a_job_does_not_continue_after_an_error_that_is_not_of_topics(job):
    assert not job.batches.continues_with_new_topics(ValueError())
