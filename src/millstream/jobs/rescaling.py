"""Gives a job that does not run another number of shards."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.jobs.registry.entries import JobEntry
from millstream.jobs.savepoints import checkpoint_of, owned, put_aside
from millstream.model.errors import RunError
from millstream.system.folders import Folder

_MOST = 10_000


@dataclass(frozen=True)
class Rescaled:
    """How a rescaling has ended: the shards before, the rows of each step, where the old one is."""

    before: int
    shards: int
    rows: dict[str, int]
    kept: str


def checked_shards(shards: int) -> int:
    """The number of shards, if a job can have so many."""
    if 1 <= shards <= _MOST:
        return shards
    raise RunError(
        "MS235",
        f"a job cannot have {shards} shards",
        fix=f"write a number from 1 to {_MOST}; twice the cores of the cluster is plenty",
    )


def rescale(job: JobEntry, shards: int) -> Rescaled:
    """Redistributes the state of a job over so many shards.

    The new checkpoint is made and checked beside the old one before it takes its place; the old one
    is kept under a name with the time. While this is done, no process can start the job.
    """
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.rescaling import Rescaling
    from millstream.spark.driver.session import local_session

    checkpoint_of(job)
    owner = owned(job)
    try:
        target = f"{job.checkpoint}.rescaled"
        rescaling = Rescaling.of(job.name, job.checkpoint, target, checked_shards(shards))
        with explained():
            rows = rescaling.run(lambda: local_session("millstream rescale"))
    finally:
        owner.release()
    # The numbers of owners continue, so what the next one writes is newer than all before.
    for name in rescaling.old.names("owner"):
        rescaling.copy(f"{rescaling.old.root}/owner/{name}", f"owner/{name}")
    kept = put_aside(job)
    place = Folder.of(job.name, job.checkpoint, "checkpoint")
    with place.errors():
        place.system.move(rescaling.new.root, place.root)
    return Rescaled(len(rescaling.before), shards, rows, kept)
