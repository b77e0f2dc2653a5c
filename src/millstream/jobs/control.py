"""Stops and removes jobs from another process, by way of the registry."""

from __future__ import annotations

import os
import signal
import time
from contextlib import suppress

from millstream.jobs.logs import before, log_file
from millstream.jobs.registry.entries import JobEntry, moment_text
from millstream.jobs.registry.registry import Registry
from millstream.model.errors import RunError

_LOOKS = 0.2


def check_is_free(registry: Registry, name: str) -> None:
    """MS209: another job of that name is running; a supervisor's own job is no other."""
    for job in registry.jobs():
        ours = job.supervisor is not None and job.supervisor.process.pid == os.getppid()
        if job.name == name and job.is_alive and not ours:
            raise RunError(
                "MS209",
                f"job {name!r} runs already: {_where(job)}, checkpoint {job.checkpoint!r}",
                fix=f"stop it first: millstream jobs stop {job.id}; or give the other one another "
                "name: --name",
            )


def check_can_resume(registry: Registry, job: JobEntry) -> None:
    """MS209 if the job runs, MS228 if it was not started with ``millstream run``."""
    check_is_free(registry, job.name)
    check_has_launch(job)


def check_has_launch(job: JobEntry) -> None:
    """MS228 if the job was not started with ``millstream run``."""
    if job.launch is None:
        raise RunError(
            "MS228",
            f"job {job.name!r} was not started with 'millstream run', so its command is not known",
            fix=f"start its program again: {job.program}; it resumes from its checkpoint",
        )


def request_stop(registry: Registry, job: JobEntry) -> None:
    """Asks a job to stop after the batch under way; MS228 if it does not run."""
    if not job.is_alive:
        raise RunError(
            "MS228",
            f"job {job.name!r} does not run: it is {job.state}",
            fix=f"see how it ended: millstream jobs show {job.name}",
        )
    _request(registry, job)


def stop(registry: Registry, job: JobEntry, patience: float) -> JobEntry:
    """Stops a job after the batch under way, and waits for that; returns how it has ended."""
    request_stop(registry, job)
    until = time.monotonic() + patience
    while job.is_alive:
        _request(registry, job)
        if time.monotonic() > until:
            raise RunError(
                "MS228",
                f"job {job.name!r} has not ended in {patience:g} s: {_where(job)}",
                fix="it ends after the batch under way: wait longer with --timeout, or end its "
                "process; what that batch has done counts once when the job is resumed",
            )
        time.sleep(_LOOKS)
        job = registry.job(job.id)
    return job


def delete(registry: Registry, job: JobEntry, with_checkpoint: bool) -> None:
    """Removes a job that does not run from the registry, and its log."""
    if job.is_alive:
        raise RunError(
            "MS228",
            f"job {job.name!r} cannot be deleted while it runs: {_where(job)}",
            fix=f"stop it first: millstream jobs stop {job.name}",
        )
    if with_checkpoint:
        from millstream.system.folders import Folder

        folder = Folder.of(job.name, job.checkpoint, "checkpoint")
        with folder.errors(), suppress(FileNotFoundError):
            folder.system.delete_dir(folder.root)
    registry.delete(job.id)
    log = log_file(registry.file, job.name, job.id)
    for each in (log, before(log)):
        each.unlink(missing_ok=True)


def _request(registry: Registry, job: JobEntry) -> None:
    """Asks the run to stop, or where there is none at the moment, what would start the next."""
    run = job.run
    if run is not None and run.state in ("starting", "running", "stopping"):
        if not run.stop:
            registry.request_stop(run.id)
    elif job.supervisor is not None:
        job.supervisor.process.send(signal.SIGTERM)


def _where(job: JobEntry) -> str:
    place = job.run.place if job.run is not None else job.supervisor
    if place is None:
        return job.state
    since = "" if job.run is None else f", since {moment_text(job.run.started)}"
    return f"process {place.process.pid} on {place.host}{since}"
