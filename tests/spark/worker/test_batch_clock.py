"""The number and clock of a batch reach its tasks as a setting of the session."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark import TaskContext

from millstream.spark.compat.offset_log import OFFSETS
from millstream.spark.worker.batch_clock import Moment, announce, announce_moment, of_this_task


@pytest.fixture
def session(monkeypatch):
    """A session whose settings Spark hands to the task that asks."""
    settings: dict[str, str] = {}
    context = SimpleNamespace(getLocalProperty=settings.get)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    return SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__))


def test_the_clock_is_the_one_that_spark_noted_before_the_batch(session, tmp_path):
    log = tmp_path / OFFSETS
    log.mkdir(parents=True)
    for batch, milliseconds in ((3, 5000), (4, 6000)):
        (log / str(batch)).write_text(f'v1\n{{"batchTimestampMs":{milliseconds}}}\n-')
    announce(session, "run", str(tmp_path), 3)
    assert of_this_task("run") == Moment(batch=3, clock=5_000_000)


def test_each_job_of_a_session_has_its_own_clock(session):
    announce_moment(session, "one", Moment(1, 10))
    announce_moment(session, "two", Moment(2, 20))
    assert of_this_task("one") == Moment(1, 10)
    assert of_this_task("two") == Moment(2, 20)


def test_a_task_without_a_clock_does_not_run_with_another(session):
    announce_moment(session, "one", Moment(1, 10))
    with pytest.raises(AssertionError, match="did not hand the clock"):
        of_this_task("two")
