"""The state of a job of the registry, read from its checkpoint for people to look at."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import polars as pl

from millstream.jobs.registry.entries import JobEntry
from millstream.jobs.savepoints import checkpoint_of
from millstream.model.errors import RunError, did_you_mean
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.reports.progress import moment

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_TIMES = ("start", "end", "of_start", "of_end", "time", "timestamp", "stamp", "arrived")


def state_of(job: JobEntry, step: str | None = None) -> list[dict[str, Any]]:
    """What each step keeps: rows, bytes, shards, the oldest window and the watermark."""
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.state_reading import state_by_step

    session = _session(job)
    with explained():
        found = state_by_step(session, job.checkpoint)
    _check_step(job, step, found)
    return [
        {
            "step": name,
            "rows": each.rows,
            "bytes": each.bytes,
            "shards": each.shards,
            "oldest_window": instant_text(each.oldest),
            "watermark": instant_text(each.watermark),
        }
        for name, each in sorted(found.items())
        if step in (None, name)
    ]


def rows_of_key(job: JobEntry, key: Sequence[str], step: str | None = None) -> list[dict[str, Any]]:
    """The rows that the state has of a key: by step and table, with the columns of the state."""
    from millstream.spark.driver import state_reading
    from millstream.spark.driver.failures import explained

    session = _session(job)
    with explained():
        if step is not None:
            _check_step(job, step, state_reading.state_by_step(session, job.checkpoint))
        found = state_reading.rows_of_key(session, job.checkpoint, key)
    return [
        {
            "step": each.step,
            "bucket": each.bucket,
            "table": each.table,
            "rows": _as_json(each.rows),
        }
        for each in found
        if step in (None, each.step)
    ]


def _as_json(rows: pl.DataFrame) -> list[dict[str, Any]]:
    """The rows with values that JSON has; instants are text."""
    times = [n for n in _TIMES if n in rows.columns and rows[n].dtype == pl.Int64]
    found = [{**row, **{n: instant_text(row[n]) for n in times}} for row in rows.to_dicts()]
    made: list[dict[str, Any]] = json.loads(json.dumps(found, default=str))
    return made


def instant_text(micros: int | None) -> str | None:
    """An instant of the state as text; nothing for the ends of time.

    >>> instant_text(1_500_000), instant_text(None)
    ('1970-01-01T00:00:01.500000+00:00', None)
    """
    if micros is None or not START_OF_TIME + 1 < micros < END_OF_TIME:
        return None
    at = moment(micros)
    return None if at is None else at.isoformat()


def _session(job: JobEntry) -> SparkSession:
    from millstream.spark.driver.session import local_session

    checkpoint_of(job)
    return local_session("millstream state", short=True)


def _check_step(job: JobEntry, step: str | None, found: dict[str, Any]) -> None:
    if step is not None and step not in found:
        raise RunError(
            "MS228",
            f"job {job.name!r} has no state of a step {step!r}",
            fix=did_you_mean(step, found)
            if found
            else "steps that keep state are those with a key; see: millstream jobs show",
        )
