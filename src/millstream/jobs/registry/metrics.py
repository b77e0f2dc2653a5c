"""The metrics of a job over time: each batch for an hour, then each minute for a week.

A report is a dict. Numbers that count add up when batches are merged to a minute; of the others,
such as the watermark, the last ones are kept.
"""

from __future__ import annotations

import json
import sqlite3
from itertools import groupby
from typing import Any

from millstream.jobs.registry.database import transaction
from millstream.reports.progress import BatchReport

FULL = 3600.0
"""Seconds for which each batch is kept."""
MINUTE = 60
"""Seconds that are merged into one, after that."""
KEPT = 7 * 86400.0
"""Seconds for which minutes are kept."""
MOST_BYTES = 256 << 20
"""How large the metrics of all jobs may become: beyond that, the oldest are removed."""
_AT_ONCE = 2_000  # batches that are merged in one transaction, during which nobody else can write
_COUNTS = ("read", "taken", "emitted", "written", "late", "rejected", "lost", "ahead")
_ADDED = ("batches", "seconds", "rows", "phases", *_COUNTS)


def batch_report(report: BatchReport) -> dict[str, Any]:
    """A batch as the registry keeps it, without what is empty."""
    values = {
        "batches": 1,
        "seconds": round(report.seconds, 4),
        "rows": report.rows,
        "phases": {name: round(seconds, 4) for name, seconds in report.phases.items()},
        **{name: _some(getattr(report, name)) for name in _COUNTS},
        "watermark": report.watermark,
        "watermarks": dict(report.watermarks),
        "state_rows": report.state_rows,
        "state_bytes": report.state_bytes,
        "state": dict(report.state),
        "splits": [
            [each.source, each.split, each.watermark and each.watermark.isoformat(), each.idle]
            for each in report.splits
        ],
        "waiting": report.waiting,
    }
    return {name: value for name, value in values.items() if value not in (None, {}, [])}


def merged(first: dict[str, Any], second: dict[str, Any]) -> dict[str, Any]:
    """Two reports of one job as one; the second is the later one.

    >>> merged({"rows": 2, "late": {"totals": 1}, "watermark": 5}, {"rows": 3, "watermark": 8})
    {'rows': 5, 'late': {'totals': 1}, 'watermark': 8}
    """
    return {**first, **second} | {
        name: _sum(first[name], second[name]) for name in _ADDED if name in first and name in second
    }


def thin(database: sqlite3.Connection, now: float, most_bytes: int = MOST_BYTES) -> None:
    """Merges and removes what is old, of all jobs."""
    before = (now - FULL) // MINUTE * MINUTE
    find = (
        "SELECT run, batch, ended, report FROM batch WHERE span = 0 AND ended < ? "
        "ORDER BY run, batch LIMIT ?"
    )
    while rows := database.execute(find, (before, _AT_ONCE)).fetchall():
        with transaction(database):
            for (run, _), batches in groupby(rows, key=lambda row: (row[0], row[2] // MINUTE)):
                _merge(database, run, list(batches))
    database.execute("DELETE FROM batch WHERE ended < ?", (now - KEPT,))
    if _bytes(database) > most_bytes:
        for table in ("batch", "sample"):
            database.execute(
                f"DELETE FROM {table} WHERE ended <= "
                f"(SELECT min(ended) + (max(ended) - min(ended)) / 10 FROM {table})"
            )


def _merge(database: sqlite3.Connection, run: str, batches: list[Any]) -> None:
    report = json.loads(batches[0]["report"])
    for each in batches[1:]:
        report = merged(report, json.loads(each["report"]))
    first, last = batches[0]["batch"], batches[-1]
    database.execute(
        "DELETE FROM batch WHERE run = ? AND batch BETWEEN ? AND ? AND span = 0",
        (run, first, last["batch"]),
    )
    database.execute(
        "INSERT OR REPLACE INTO batch VALUES (?, ?, ?, ?, ?)",
        (run, last["batch"], MINUTE, last["ended"], json.dumps(report)),
    )


def _bytes(database: sqlite3.Connection) -> int:
    pages, free, size = (
        database.execute(f"PRAGMA {name}").fetchone()[0]
        for name in ("page_count", "freelist_count", "page_size")
    )
    return int((pages - free) * size)


def _some(counts: Any) -> dict[str, int]:
    return {name: count for name, count in counts.items() if count}


def _sum(first: Any, second: Any) -> Any:
    if not isinstance(first, dict):
        return first + second
    names = {**first, **second}
    return {name: first.get(name, 0) + second.get(name, 0) for name in names}
