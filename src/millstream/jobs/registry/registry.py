"""The registry: reads and writes what is known of the jobs of a data directory."""

from __future__ import annotations

import hashlib
import json
import os
import re
import sqlite3
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from secrets import token_hex
from typing import Any

from millstream.jobs.registry.database import connect, registry_errors, registry_file, transaction
from millstream.jobs.registry.entries import JobEntry, Place, RunEntry, run_entry
from millstream.jobs.registry.samples import samples_of
from millstream.model.errors import RunError, did_you_mean
from millstream.reports.masking import masked
from millstream.system.processes import current_user

PATIENCE = 5.0
"""Seconds for which a reader waits for another process that writes."""
_NONE = (
    "start one: millstream run app.py. Jobs are recorded in the data directory, .millstream in the "
    "current directory unless MILLSTREAM_DATA names another"
)
_MOST_RUNS = 100  # of each job


class Registry:
    """The jobs of a data directory. Used by one thread; any number of processes may have one."""

    def __init__(self, file: Path, patience: float = PATIENCE) -> None:
        self.file = file
        self.database = connect(file, patience)

    def close(self) -> None:
        """Closes the file."""
        self.database.close()

    @contextmanager
    def transaction(self) -> Iterator[None]:
        """Makes all changes of the block, or none of them. Nobody else can write meanwhile."""
        with registry_errors(self.file, (sqlite3.Error,)), transaction(self.database):
            yield

    def jobs(self, plans: bool = True) -> list[JobEntry]:
        """All jobs, by name; without their plans it takes half the time."""
        with registry_errors(self.file):
            rows = self.database.execute("SELECT * FROM job ORDER BY name, created").fetchall()
            return [self._entry(row, plans) for row in rows]

    def job(self, name: str) -> JobEntry:
        """The job of that name or id; MS226 if there is none, or more than one of that name."""
        found = self._named(name)
        if len(found) == 1:
            return found[0]
        if not found:
            known = self.jobs()
            fix = did_you_mean(name, [each.name for each in known]) if known else _NONE
            raise RunError("MS226", f"the registry has no job {name!r}", fix=fix)
        ids = ", ".join(f"{each.id} ({each.checkpoint})" for each in found)
        raise RunError(
            "MS226",
            f"the registry has {len(found)} jobs {name!r}, with different checkpoints",
            fix=f"name one by its id: {ids}",
        )

    def runs(self, job: str) -> list[RunEntry]:
        """The runs of a job, the last one first."""
        with registry_errors(self.file):
            find = "SELECT * FROM run WHERE job = ? ORDER BY number DESC"
            return [run_entry(row) for row in self.database.execute(find, (job,))]

    def batches(self, job: str, since: float = 0.0) -> list[dict[str, Any]]:
        """The metrics of a job from some time on, the oldest first.

        Each has the ``run`` by its number, the ``batch``, when it ``ended``, and the ``span`` in
        seconds, if batches were merged, in which case the numbers of all of them are added up.
        """
        with registry_errors(self.file):
            find = (
                "SELECT number, batch, span, batch.ended, report FROM batch "
                "JOIN run ON run.id = batch.run WHERE job = ? AND batch.ended >= ? "
                "ORDER BY batch.ended"
            )
            return [
                {"run": run, "batch": batch, "span": span, "ended": ended, **json.loads(report)}
                for run, batch, span, ended, report in self.database.execute(find, (job, since))
            ]

    def samples(self, job: str, since: float = 0.0) -> list[dict[str, Any]]:
        """Samples of the batches of a job that ended after some time, the oldest first."""
        with registry_errors(self.file):
            return samples_of(self.database, job, since)

    def register(self, name: str, program: str, folder: str, launch: Any = None) -> str:
        """Adds a job, or what is new of it, by the folder of its checkpoint; returns its id."""
        job = job_id(folder)
        with registry_errors(self.file):
            self.database.execute(
                "INSERT INTO job (id, name, owner, program, checkpoint, created, launch) "
                "VALUES (?, ?, ?, ?, ?, ?, ?) ON CONFLICT (id) DO UPDATE SET "
                "owner = excluded.owner, program = excluded.program, "
                "launch = coalesce(excluded.launch, launch)",
                (job, name, current_user(), program, job_folder(folder), time.time(),
                 None if launch is None else json.dumps(launch)),
            )  # fmt: skip
        return job

    def begin_run(self, job: str, run: str | None = None) -> str:
        """Adds a run of this process, which is starting; earlier ones that died are lost."""
        run = run or token_hex(8)
        now = time.time()
        lost = [each for each in self.runs(job) if each.state == "lost" and each.id != run]
        with registry_errors(self.file), transaction(self.database):
            for each in lost:
                self.database.execute(
                    "UPDATE run SET state = 'lost', reason = ?, ended = ? WHERE id = ?",
                    (each.reason, each.ended, each.id),
                )
            number = self._last_number(job) + 1
            self.database.execute(
                "INSERT OR IGNORE INTO run (id, job, number, state, user, process, started, beat) "
                "VALUES (?, ?, ?, 'starting', ?, ?, ?, ?)",
                (run, job, number, current_user(), str(Place.own()), now, now),
            )
            old = "DELETE FROM run WHERE job = ? AND number <= ?"
            self.database.execute(old, (job, number - _MOST_RUNS))
        return run

    def fail_run(self, run: str, reason: str) -> None:
        """Sets that a run has failed, and why."""
        with registry_errors(self.file):
            self.database.execute(
                "UPDATE run SET state = 'failed', reason = ?, code = ?, ended = ? WHERE id = ?",
                (masked(reason), code_in(reason), time.time(), run),
            )

    def set_supervisor(self, job: str, place: Place | None) -> None:
        """Sets which process starts the job, now and again when it has failed."""
        with registry_errors(self.file):
            text = place and json.dumps([*json.loads(str(place)), self._last_number(job) + 1])
            self.database.execute("UPDATE job SET supervisor = ? WHERE id = ?", (text, job))

    def request_stop(self, run: str) -> None:
        """Asks a run to stop after the batch under way; its own process looks for that."""
        with registry_errors(self.file):
            self.database.execute("UPDATE run SET stop = 1 WHERE id = ?", (run,))

    def delete(self, job: str) -> None:
        """Removes a job with its runs and metrics."""
        with registry_errors(self.file):
            self.database.execute("DELETE FROM job WHERE id = ?", (job,))

    def _named(self, name: str) -> list[JobEntry]:
        """Those of that id, or else of that name."""
        find = "SELECT * FROM job WHERE id = ? OR name = ? ORDER BY id = ? DESC, created"
        with registry_errors(self.file):
            rows = self.database.execute(find, (name, name, name)).fetchall()
            wanted = rows[:1] if rows and rows[0]["id"] == name else rows
            return [self._entry(row) for row in wanted]

    def _last_number(self, job: str) -> int:
        last = "SELECT coalesce(max(number), 0) FROM run WHERE job = ?"
        return int(self.database.execute(last, (job,)).fetchone()[0])

    def _entry(self, row: Any, plans: bool = True) -> JobEntry:
        last = "SELECT * FROM run WHERE job = ? ORDER BY number DESC LIMIT 1"
        run = self.database.execute(last, (row["id"],)).fetchone()
        place = Place.parse(row["supervisor"]) if row["supervisor"] else None
        return JobEntry(
            id=row["id"],
            name=row["name"],
            owner=row["owner"],
            program=row["program"],
            checkpoint=row["checkpoint"],
            created=row["created"],
            plan=json.loads(row["plan"]) if row["plan"] and plans else None,
            launch=json.loads(row["launch"]) if row["launch"] else None,
            supervisor=place if place and place.is_here and place.process.runs else None,
            awaited=_awaited(row["supervisor"]),
            run=None if run is None else run_entry(run),
        )


@contextmanager
def opened_registry(data: str | os.PathLike[str] | None = None) -> Iterator[Registry]:
    """The registry of a data directory, for as long as the block runs."""
    registry = Registry(registry_file(data))
    try:
        yield registry
    finally:
        registry.close()


def _awaited(supervisor: str | None) -> int:
    """The number of the run that a supervisor was started for; one of an older version has none."""
    return sum(json.loads(supervisor)[4:]) if supervisor else 0


def job_folder(folder: str) -> str:
    """The folder of a job in its checkpoint, as an absolute path or a URI."""
    return folder if re.match(r"[A-Za-z][A-Za-z0-9+.-]*:/", folder) else os.path.abspath(folder)


def job_id(folder: str) -> str:
    """The id of the job that has this folder in its checkpoint.

    >>> job_id("/data/checkpoints/team-scores")
    '23643a8fe3'
    """
    return hashlib.sha256(job_folder(folder).encode()).hexdigest()[:10]


def code_in(reason: str) -> str | None:
    """The error code that a text begins with.

    >>> code_in("MS201 in step 'parse': no number"), code_in("KeyError: 'team'")
    ('MS201', None)
    """
    found = re.match(r"MS\d{3}\b", reason)
    return found[0] if found else None
