"""Savepoints: copies of the checkpoint of a job that does not run, from which it can resume."""

from __future__ import annotations

from datetime import UTC, datetime

from pyarrow import fs

from millstream.jobs.registry.entries import JobEntry
from millstream.model.errors import RunError
from millstream.spark.driver.damage import PLAN
from millstream.spark.driver.ownership import Owner
from millstream.system.folders import Folder

_OWNER = "owner/"


def make_savepoint(job: JobEntry, target: str) -> str:
    """Copies the checkpoint of a job into a folder, in which it has its name; returns that path.

    The job may not run: MS209. While it is copied, no process can start it.
    """
    checkpoint = checkpoint_of(job)
    copy = _folder(job, f"{target.rstrip('/')}/{job.name}")
    with copy.errors():
        if copy.files():
            raise RunError(
                "MS228",
                f"{copy.path!r} has files already, so no savepoint of job {job.name!r} can be "
                "made there",
                fix="name a folder that is empty or does not exist",
            )
        owner = owned(job)
        try:
            _copy(checkpoint, copy)
        finally:
            owner.release()
    return copy.path


def restore_savepoint(job: JobEntry, source: str) -> str | None:
    """Puts a savepoint in the place of the job's checkpoint, which is kept under another name.

    Returns where it is kept; None if there was none.
    """
    savepoint = _folder(job, f"{source.rstrip('/')}/{job.name}")
    with savepoint.errors():
        if PLAN not in savepoint.names():
            raise RunError(
                "MS228",
                f"{savepoint.path!r} has no savepoint of job {job.name!r}",
                fix="name the folder that was given to: millstream jobs savepoint",
            )
    checkpoint = _folder(job, job.checkpoint)
    with checkpoint.errors():
        there = bool(checkpoint.files())
        kept = put_aside(job) if there else None
        _copy(savepoint, checkpoint)
    return kept


def put_aside(job: JobEntry) -> str:
    """Gives the checkpoint of a job that does not run a name with the time; returns that path."""
    suffix = f".{datetime.now(UTC):%Y%m%d-%H%M%S}"
    checkpoint = _folder(job, job.checkpoint)
    owned(job).release()
    checkpoint.system.move(checkpoint.root, checkpoint.root + suffix)
    return job.checkpoint + suffix


def checkpoint_of(job: JobEntry) -> Folder:
    """The checkpoint of a job; MS228 if it has none."""
    checkpoint = _folder(job, job.checkpoint)
    with checkpoint.errors():
        if PLAN in checkpoint.names():
            return checkpoint
    raise RunError(
        "MS228",
        f"job {job.name!r} has no checkpoint in {job.checkpoint!r}",
        fix="run it first: a checkpoint is made when the job starts",
    )


def _copy(source: Folder, target: Folder) -> None:
    """Copies all but the owner; the plan last, without which a checkpoint is not complete."""
    names = [name for name in source.files() if not name.startswith(_OWNER)]
    for name in sorted(names, key=lambda each: each == PLAN):
        target.make(name.rpartition("/")[0])
        fs.copy_files(
            f"{source.root}/{name}",
            f"{target.root}/{name}",
            source_filesystem=source.system,
            destination_filesystem=target.system,
        )


def owned(job: JobEntry) -> Owner:
    """Makes this process the owner of a job's checkpoint; MS209 if the job runs."""
    return Owner.take(job.name, job.checkpoint.rpartition("/")[0])


def _folder(job: JobEntry, path: str) -> Folder:
    return Folder.of(job.name, path, "checkpoint")
