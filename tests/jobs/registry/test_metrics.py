"""Metrics: every batch for an hour, every minute for a week, and never more than so many bytes."""

from __future__ import annotations

import json

import pytest

from millstream.jobs.registry.metrics import FULL, KEPT, MINUTE, batch_report, thin
from millstream.reports.progress import BatchReport, Split, moment

NOW = 1_000_000_040.0  # 20 s after a full minute


@pytest.fixture
def run(registry):
    job = registry.register("totals", "totals.py", "/checkpoints/totals")
    return registry.begin_run(job)


def add(registry, run, reports):
    for each in reports:
        registry.database.execute(
            "INSERT INTO batch VALUES (?, ?, 0, ?, ?)",
            (run, each.batch, each.ended, json.dumps(batch_report(each))),
        )


def reports(count, first_ended, every, **values):
    return [
        BatchReport(n, started=first_ended + n * every - 1, seconds=1, rows=10, **values)
        for n in range(count)
    ]


def batches(registry):
    (job,) = registry.jobs()
    return registry.batches(job.id)


def test_a_batch_of_the_last_hour_is_kept_as_it_was(registry, run):
    split = Split("scores", "3", moment(5_000_000), False)
    report = BatchReport(
        7, started=NOW - 61, seconds=1, rows=10, late={"totals": 2, "others": 0},
        written={"out": 4}, watermark=5_000_000, state_rows=3, state_bytes=300, splits=(split,),
    )  # fmt: skip
    add(registry, run, [report])
    thin(registry.database, NOW)
    assert batches(registry) == [
        {
            "run": 1, "batch": 7, "span": 0, "ended": NOW - 60, "batches": 1, "seconds": 1,
            "rows": 10, "late": {"totals": 2}, "written": {"out": 4}, "watermark": 5_000_000,
            "state_rows": 3, "state_bytes": 300,
            "splits": [["scores", "3", "1970-01-01T00:00:05+00:00", False]],
        }
    ]  # fmt: skip


def test_older_batches_become_minutes_in_which_nothing_is_lost(registry, run):
    begin = NOW - FULL - 3 * MINUTE
    add(registry, run, reports(100, begin, 3, late={"totals": 1}, state_rows=5))
    thin(registry.database, NOW)
    found = batches(registry)
    minutes = [each for each in found if each["span"] == MINUTE]
    assert sum(each["rows"] for each in found) == 1000
    assert sum(each["late"]["totals"] for each in found) == 100
    assert sum(each["batches"] for each in found) == 100
    assert all(each["state_rows"] == 5 for each in found)
    # The hour ends 20 s after a full minute, and 160 of the first 180 s are full minutes.
    assert len(minutes) == 3
    assert sum(each["batches"] for each in minutes) * 3 == 160 + 2  # at 0, 3, 6 … 159
    assert all(each["ended"] >= NOW - FULL - MINUTE for each in found if each["span"] == 0)


def test_thinning_twice_changes_nothing(registry, run):
    add(registry, run, reports(100, NOW - FULL - 600, 3))
    thin(registry.database, NOW)
    before = batches(registry)
    thin(registry.database, NOW)
    assert batches(registry) == before


def test_what_is_older_than_a_week_is_removed(registry, run):
    add(registry, run, [BatchReport(0, started=NOW - KEPT - 61, seconds=1, rows=10)])
    thin(registry.database, NOW)
    assert batches(registry) == []


def test_the_oldest_metrics_are_removed_where_there_are_too_many_bytes(registry, run):
    add(registry, run, reports(1000, NOW - 1000, 1))
    thin(registry.database, NOW, most_bytes=1)
    found = [each["batch"] for each in batches(registry)]
    assert found == list(range(100, 1000))
