"""A batch sees the version of a table that the driver noted for it, however often it runs."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark import TaskContext

import millstream as ms
from millstream.spark.worker import lookup_versions
from millstream.spark.worker.lookup_versions import LookupVersions, VersionedTable

ORDERS = ms.from_rows([("ann",)], schema="user string")
KEY = ("ann",)


@pytest.fixture
def session(monkeypatch):
    """A session whose settings Spark hands to the task that asks."""
    settings: dict[str, str] = {}
    context = SimpleNamespace(getLocalProperty=settings.get)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    return SimpleNamespace(conf=SimpleNamespace(set=settings.__setitem__))


@pytest.fixture
def job(session, tmp_path):
    """A job that can be started again; its batches give the city of ann."""

    class Job:
        folder = tmp_path / "checkpoint"
        file = tmp_path / "users.csv"

        def __init__(self, **options):
            schema = "user string, city string"
            self.node = ORDERS.lookup(self.file, on="user", schema=schema, **options).node
            self.versions = LookupVersions([self.node], "run", str(self.folder))

        @classmethod
        def write(cls, city):
            cls.file.write_text(f"user,city\nann,{city}\n")

        def batch(self, number, now=0):
            self.versions.announce(session, number, now)
            table = VersionedTable(self.node.table, self.node.name, "run", str(self.folder))
            return table.of_this_task()([KEY])[KEY]["city"]

        def kept(self):
            return sorted(each.name for each in (self.folder / "lookups" / "lookup-1").iterdir())

    return Job


def test_a_change_is_seen_from_the_next_batch_on(job):
    job.write("Oslo")
    running = job(reload="change")
    assert running.batch(0) == "Oslo"
    job.write("Lisbon")
    assert running.batch(0) == "Oslo"
    assert running.batch(1) == "Lisbon"


def test_a_batch_that_is_retried_after_a_restart_sees_what_it_saw(job):
    job.write("Oslo")
    job(reload="change").batch(0)
    job.write("Lisbon")
    again = job(reload="change")
    assert again.batch(0) == "Oslo"
    assert again.batch(1) == "Lisbon"


def test_files_are_read_again_after_a_while(job):
    job.write("Oslo")
    running = job(reload="1m")
    assert running.batch(0, now=0) == "Oslo"
    job.write("Lisbon")
    assert running.batch(1, now=59_999_999) == "Oslo"
    assert running.batch(2, now=60_000_000) == "Lisbon"


def test_versions_that_no_batch_needs_any_more_are_removed(job, monkeypatch):
    monkeypatch.setattr(lookup_versions, "KEPT_BATCHES", 2)
    running = None
    for number, city in enumerate(["Oslo", "Lisbon", "Rome", "Paris"]):
        job.write(city)
        running = running or job(reload="change")
        assert running.batch(number) == city
    assert len(running.kept()) == 2
    assert running.batch(2) == "Rome"


def test_a_task_without_versions_does_not_run_with_others(job, session):
    job.write("Oslo")
    running = job()
    running.versions.announce(session, 0, 0)
    other = VersionedTable(running.node.table, "lookup-1", "other run", str(job.folder))
    with pytest.raises(AssertionError, match="did not hand the versions"):
        other.of_this_task()
