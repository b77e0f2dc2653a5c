"""The folder in which a job keeps what it needs to go on: Spark's checkpoint, and its own plan."""

from __future__ import annotations

import json
import shutil
import tempfile
import uuid
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from pyarrow import fs

from millstream.engine.blobs import VERSION
from millstream.model.errors import RunError
from millstream.spark.folders import Folder
from millstream.spark.packing import Packing
from millstream.spark.physical import Physical
from millstream.spark.stateful import NAMES, OF, check_told_apart, stateful_plan

_PLAN = "plan.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a job keeps its state. ``run`` is the id of its life, ``labels`` name its shards.

    ``packing`` is how it reads files, where that must stay the same. A folder that nobody named is
    ``fleeting``: it goes when the job has ended.
    """

    folder: str
    run: str
    labels: list[int]
    packing: Packing | None
    fleeting: bool

    def forget(self) -> None:
        """Removes a folder that was only for this run."""
        if self.fleeting:
            shutil.rmtree(self.folder, ignore_errors=True)


def opened(
    name: str, given: str | None, plan: Physical, labels: list[int], packing: Packing | None
) -> Checkpoint:
    """The job's checkpoint: the one that it has, if the plan can go on with it, or a new one."""
    if given is None:
        folder = tempfile.mkdtemp(prefix="millstream-")
        return Checkpoint(folder, uuid.uuid4().hex, labels, None, fleeting=True)
    check_told_apart(plan)
    path = f"{given.rstrip('/')}/{name}"
    place = Folder.of(name, path)
    with place.errors():
        if place.system.get_file_info(f"{place.root}/{_PLAN}").type == fs.FileType.NotFound:
            place.make("")
            told: dict[str, Any] = {
                "version": VERSION,
                "run": uuid.uuid4().hex,
                "labels": labels,
                "packing": packing,
                "plan": stateful_plan(plan),
            }
            # Under another name first: whoever is killed while writing leaves no half of a plan.
            with place.create(f"{_PLAN}.tmp") as stream:
                stream.write(json.dumps(told, indent=2, ensure_ascii=False).encode())
            place.move(f"{_PLAN}.tmp", to=_PLAN)
        else:
            told = json.loads(place.read(_PLAN))
            _check(name, path, told, stateful_plan(plan))
    # A checkpoint of before there was a packing goes on as it did, by what the session says.
    return Checkpoint(path, told["run"], told["labels"], told.get("packing"), fleeting=False)


def _check(name: str, path: str, told: dict[str, Any], now: list[str]) -> None:
    if told["version"] != VERSION:
        raise RunError(
            "MS207",
            f"the checkpoint {path!r} is of format {told['version']}, where {VERSION} is known",
            fix="resume it with the Millstream that wrote it, or name another checkpoint",
        )
    before = told["plan"]
    if before == now:
        return
    change = list(unified_diff(before, now, "checkpoint", "program", lineterm="", n=2))
    fix = (
        "run the program that the state is of (other sinks and other steps without state are "
        "welcome), or give the job another name or checkpoint to begin anew"
    )
    if any(line[1:].startswith(OF) for line in change if line[0] in "+-"):
        fix = (
            "leave the order of the sinks, and the steps before those without a name, as they "
            f"were: nothing else tells them apart. Or begin anew, with names: {NAMES}"
        )
    raise RunError(
        "MS207",
        f"the state in {path!r} is of another program than job {name!r}:\n"
        + "\n".join(f"    {line}" for line in change),
        fix=fix,
    )
