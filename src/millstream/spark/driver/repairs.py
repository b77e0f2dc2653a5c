"""Puts back the watermark of a job that is not running: it is written down, and the job does it.

The watermarks are in Spark's state, which only a batch can change. So a repair is bound to the
first batch that Spark has not begun yet: every shard puts its watermarks back when it first runs in
that batch or a later one, and keeps in its state that it has. A batch that was begun before the
repair is retried without it, and one that is retried after a crash does the same again.
"""

from __future__ import annotations

import json
from dataclasses import asdict

from millstream.model.errors import RunError
from millstream.spark.compat.offset_log import OFFSETS, last_batch
from millstream.spark.driver.damage import PLAN
from millstream.spark.driver.ownership import Owner
from millstream.spark.worker.repair import Repair
from millstream.system.folders import Folder

_REPAIRS = "repairs.json"


def repairs_in(folder: str) -> tuple[Repair, ...]:
    """The repairs of a job's checkpoint, in the order in which they were asked for."""
    place = Folder.of("checkpoint", folder, "checkpoint")
    if _REPAIRS not in place.names():
        return ()
    return tuple(Repair(**each) for each in json.loads(place.read(_REPAIRS)))


def repair(checkpoint: str, job: str, watermark: int) -> Repair:
    """Asks for a repair of a job, which may not be running: MS209. MS217 if it has run no batch."""
    folder = f"{checkpoint.rstrip('/')}/{job}"
    place = Folder.of(job, folder, "checkpoint")
    with place.errors():
        begun = last_batch(place, OFFSETS)
        if PLAN not in place.names() or begun is None:
            raise RunError(
                "MS217",
                f"there is nothing to repair in {folder!r}: no job has run a batch there",
                fix="name the folder that run(…, checkpoint=…) was given, and the job's name",
            )
        owner = Owner.take(job, checkpoint)
        try:
            made = Repair(begun + 1, watermark)
            # One that no batch has made yet gives way to this one.
            kept = [each for each in repairs_in(folder) if each.batch < made.batch] + [made]
            with place.create(f"{_REPAIRS}.tmp") as stream:
                stream.write(json.dumps([asdict(each) for each in kept], indent=2).encode())
            place.move(f"{_REPAIRS}.tmp", to=_REPAIRS)
        finally:
            owner.release()
    return made
