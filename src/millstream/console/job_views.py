"""What the console shows of jobs: rows of the list, and all that a job's page is drawn from."""

from __future__ import annotations

import time
from collections import defaultdict
from datetime import datetime
from typing import Any

from millstream.jobs.registry.entries import JobEntry, RunEntry
from millstream.jobs.registry.registry import Registry
from millstream.reports.masking import masked

WINDOW = 300.0
"""Seconds that the small charts of the list show."""
BINS = 30
MOST_JOBS = 1_000
MOST_BATCHES = 3_600
"""Batches that a page gets at once: the last ones."""
_MOST_SCANNED = 20_000
_MOST_RUNS = 20


def job_list(registry: Registry, now: float) -> list[dict[str, Any]]:
    """All jobs, those that run first, then the one that changed last."""
    jobs = registry.jobs(plans=False)
    recent = _recent(registry, now)
    rows = [{**job_row(job, now), **_trend(recent.get(job.id, []), now)} for job in jobs]
    rows.sort(key=lambda row: (not row["alive"], -(row["ended"] or row["started"] or 0)))
    return rows[:MOST_JOBS]


def job_row(job: JobEntry, now: float) -> dict[str, Any]:
    """A job in the list: whether it is alive, how fast it is, and how far event time is."""
    run, progress = job.run, _progress(job.run)
    reason = run.reason if run is not None and job.state in ("failed", "lost", "starting") else None
    running = job.state in ("running", "stopping")
    return {
        "id": job.id,
        "name": job.name,
        "state": job.state,
        "alive": job.is_alive,
        "owner": job.owner,
        "program": masked(job.program),
        "resumable": job.launch is not None and not job.is_alive,
        "supervised": job.supervisor is not None,
        "reason": None if reason is None else masked(reason),
        "code": None if run is None else run.code,
        "run": None if run is None else run.number,
        "started": None if run is None else run.started,
        "ended": None if run is None else run.ended,
        "stopping": run is not None and run.stop and job.is_alive,
        "rate": progress.get("rows_per_second") if running else None,
        "lag": _lag(progress, now if running else None),
        **{
            name: progress.get(name)
            for name in (
                "rows", "batches", "watermark", "late", "rejected", "lost", "ahead", "restarts",
                "state_rows", "state_bytes", "last_batch_seconds", "waiting",
            )
        },
    }  # fmt: skip


def job_page(registry: Registry, name: str, now: float) -> dict[str, Any]:
    """A job with its plan, its steps and its runs."""
    job = registry.job(name)
    plan = job.plan or {"steps": []}
    return {
        **job_row(job, now),
        "checkpoint": masked(job.checkpoint),
        "command": None if job.launch is None else masked(" ".join(job.launch["command"])),
        "plan": plan["steps"],
        "physical": plan.get("physical"),
        "progress": _progress(job.run),
        "runs": [_run(each) for each in registry.runs(job.id)[:_MOST_RUNS]],
        "now": now,
    }


def job_news(registry: Registry, name: str, since: float, now: float) -> dict[str, Any]:
    """What has changed of a job since some time: its state, its batches and its samples."""
    job = registry.job(name)
    return {
        "job": {**job_row(job, now), "progress": _progress(job.run)},
        "batches": registry.batches(job.id, since)[-MOST_BATCHES:],
        "samples": registry.samples(job.id, since),
        "now": now,
    }


def _run(run: RunEntry) -> dict[str, Any]:
    progress = _progress(run)
    return {
        "number": run.number,
        "state": run.state,
        "started": run.started,
        "ended": run.ended,
        "user": run.user,
        "host": run.place.host,
        "pid": run.place.process.pid,
        "code": run.code,
        "reason": None if run.reason is None else masked(run.reason),
        **{name: progress.get(name) for name in ("batches", "rows", "late", "rejected")},
    }


def _progress(run: RunEntry | None) -> dict[str, Any]:
    progress = dict((run and run.progress) or {})
    if progress.get("error"):
        progress["error"] = masked(progress["error"])
    return progress


def _lag(progress: dict[str, Any], now: float | None) -> float | None:
    """Seconds between the watermark and the clock; of a job that has ended, those at its end."""
    lag: float | None = progress.get("watermark_lag_seconds")
    if lag is None or now is None:
        return lag
    return now - datetime.fromisoformat(progress["watermark"]).timestamp()


Recent = dict[str, list[tuple[float, int, int | None]]]


def _recent(registry: Registry, now: float) -> Recent:
    """The last batches of all jobs: when each ended, its rows and its watermark."""
    find = (
        "SELECT job, batch.ended, json_extract(report, '$.rows'), "
        "json_extract(report, '$.watermark') FROM batch JOIN run ON run.id = batch.run "
        "WHERE span = 0 AND batch.ended > ? ORDER BY batch.ended DESC LIMIT ?"
    )
    recent: Recent = defaultdict(list)
    for job, ended, rows, mark in registry.database.execute(find, (now - WINDOW, _MOST_SCANNED)):
        recent[job].append((ended, rows or 0, mark))
    return recent


def _trend(batches: list[tuple[float, int, int | None]], now: float) -> dict[str, Any]:
    """Rows in each part of the last minutes, and how fast event time falls behind the clock.

    ``drift`` is by how many seconds the lag has grown in a second: 0 for a job that keeps up.
    """
    bins = [0] * BINS
    width = WINDOW / BINS
    for ended, rows, _ in batches:
        bins[max(0, BINS - 1 - int(max(0.0, now - ended) // width))] += rows
    lags = [(at, at - mark / 1e6) for at, _, mark in batches if mark and abs(mark) < 2**53]
    (last, lag), (first, before) = (lags[0], lags[-1]) if lags else ((0.0, 0.0), (0.0, 0.0))
    drift = (lag - before) / (last - first) if last - first > 5 else None
    return {"recent": bins, "drift": drift}


def clock() -> float:
    """The time of this machine."""
    return time.time()
