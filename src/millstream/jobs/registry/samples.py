"""The samples of a job: panes, late rows and rejected records of its last batches, for people.

They contain data of users, which only the user of the registry can read; with the environment
variable ``MILLSTREAM_SAMPLES`` set to ``0``, the registry keeps none.
"""

from __future__ import annotations

import json
import os
import sqlite3
from typing import Any

from millstream.reports.progress import BatchReport

SETTING = "MILLSTREAM_SAMPLES"
MOST_BATCHES = 400
"""Batches of a run whose samples are kept: those with any."""
KEPT = 86400.0
"""Seconds for which samples are kept."""


def write_samples(database: sqlite3.Connection, run: str, report: BatchReport) -> None:
    """Adds the samples of a batch, and removes those of batches long ago."""
    if not report.samples or os.environ.get(SETTING) == "0":
        return
    samples = json.dumps([[each.step, each.kind, each.values] for each in report.samples])
    database.execute(
        "INSERT OR REPLACE INTO sample VALUES (?, ?, ?, ?)",
        (run, report.batch, report.ended, samples),
    )
    database.execute(
        "DELETE FROM sample WHERE run = ? AND batch <= "
        "(SELECT batch FROM sample WHERE run = ? ORDER BY batch DESC LIMIT 1 OFFSET ?)",
        (run, run, MOST_BATCHES),
    )


def forget_samples(database: sqlite3.Connection, now: float) -> None:
    """Removes what is old, of all jobs."""
    database.execute("DELETE FROM sample WHERE ended < ?", (now - KEPT,))


def samples_of(database: sqlite3.Connection, job: str, since: float) -> list[dict[str, Any]]:
    """The samples of the last batches of a job that ended after some time, the oldest first.

    Each has the ``run`` by its number, the ``batch``, when it ``ended``, and the ``samples``: for
    each its step, its kind and its values.
    """
    find = (
        "SELECT number, batch, sample.ended, samples FROM sample JOIN run ON run.id = sample.run "
        "WHERE job = ? AND sample.ended > ? ORDER BY sample.ended DESC LIMIT ?"
    )
    rows = database.execute(find, (job, since, MOST_BATCHES)).fetchall()
    return [
        {"run": run, "batch": batch, "ended": ended, "samples": json.loads(samples)}
        for run, batch, ended, samples in reversed(rows)
    ]
