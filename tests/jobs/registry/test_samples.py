"""The registry keeps a few panes, late rows and rejected records of the last batches of a job."""

from __future__ import annotations

import time

import pytest

from millstream.jobs.registry import samples
from millstream.reports.progress import BatchReport
from millstream.reports.samples import Sample
from waiting import until

REJECTED = Sample("parse", "rejected", {"reason": "no number", "record": "x"})


def report(number, *made):
    return BatchReport(number, started=100.0 + number, seconds=1, rows=1, samples=made)


@pytest.fixture
def run(registry):
    job = registry.register("totals", "app.py", "/checkpoints/totals")
    return job, registry.begin_run(job)


def test_samples_are_kept_by_batch_and_can_be_read_from_some_time_on(registry, run):
    job, number = run
    for each in (report(0, REJECTED), report(1), report(2, REJECTED, REJECTED)):
        samples.write_samples(registry.database, number, each)
    kept = [["parse", "rejected", {"reason": "no number", "record": "x"}]]
    assert registry.samples(job) == [
        {"run": 1, "batch": 0, "ended": 101.0, "samples": kept},
        {"run": 1, "batch": 2, "ended": 103.0, "samples": kept * 2},
    ]
    assert [each["batch"] for each in registry.samples(job, since=101.0)] == [2]


def test_only_those_of_the_last_batches_are_kept(registry, run, monkeypatch):
    monkeypatch.setattr(samples, "MOST_BATCHES", 3)
    job, number = run
    for each in range(10):
        samples.write_samples(registry.database, number, report(each, REJECTED))
    assert [each["batch"] for each in registry.samples(job)] == [7, 8, 9]
    samples.forget_samples(registry.database, now=109.0 + samples.KEPT)
    assert [each["batch"] for each in registry.samples(job)] == [8, 9]


def test_users_can_keep_their_data_out_of_the_registry(registry, run, monkeypatch):
    monkeypatch.setenv(samples.SETTING, "0")
    job, number = run
    samples.write_samples(registry.database, number, report(0, REJECTED))
    assert registry.samples(job) == []


def test_a_job_records_its_samples(record, registry):
    tracker, _ = record()
    made = BatchReport(0, started=time.time(), seconds=1, rows=1, samples=(REJECTED,))
    tracker.report(made)
    until(lambda: registry.jobs() and registry.samples(registry.job("totals").id))
