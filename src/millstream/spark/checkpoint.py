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
from millstream.plan.details import aligned, details
from millstream.plan.names import kind_of
from millstream.plan.nodes import Grouping, Source, SplitSource
from millstream.spark.folders import Folder
from millstream.spark.physical import Physical

_PLAN = "plan.json"


@dataclass(frozen=True)
class Checkpoint:
    """Where a job keeps its state. ``run`` is the id of its life, ``labels`` name its shards.

    A folder that nobody named is ``fleeting``: it goes when the job has ended.
    """

    folder: str
    run: str
    labels: list[int]
    fleeting: bool

    def forget(self) -> None:
        """Removes a folder that was only for this run."""
        if self.fleeting:
            shutil.rmtree(self.folder, ignore_errors=True)


def opened(name: str, given: str | None, plan: Physical, labels: list[int]) -> Checkpoint:
    """The job's checkpoint: the one that it has, if the plan can go on with it, or a new one."""
    if given is None:
        folder = tempfile.mkdtemp(prefix="millstream-")
        return Checkpoint(folder, uuid.uuid4().hex, labels, fleeting=True)
    path = f"{given.rstrip('/')}/{name}"
    place = Folder.of(name, path)
    with place.errors():
        if place.system.get_file_info(f"{place.root}/{_PLAN}").type == fs.FileType.NotFound:
            place.make("")
            told: dict[str, Any] = {
                "version": VERSION,
                "run": uuid.uuid4().hex,
                "labels": labels,
                "plan": stateful_plan(plan),
            }
            # Under another name first: whoever is killed while writing leaves no half of a plan.
            with place.create(f"{_PLAN}.tmp") as stream:
                stream.write(json.dumps(told, indent=2, ensure_ascii=False).encode())
            place.move(f"{_PLAN}.tmp", to=_PLAN)
        else:
            told = json.loads(place.read(_PLAN))
            _check(name, path, told, stateful_plan(plan))
    return Checkpoint(path, told["run"], told["labels"], fleeting=False)


def stateful_plan(plan: Physical) -> list[str]:
    """What the state depends on, in lines: the sources, and the groupings with their answers."""
    lines = [_source(source) for source in plan.sources]
    for grouping in plan.levels:
        lines.append(f"aggregate {grouping.name!r}")
        lines += [f"    {line}" for line in aligned(details(grouping))]
        lines.append(f"    types  {', '.join(_types(grouping))}")
        lines.append(f"    from   {', '.join(sorted(plan.idles(grouping)))}")
    if plan.needs_clock:  # Spark keeps time in all of a query's state, or in none
        lines.append("by the clock: triggers, or splits that are idle")
    return lines


def _source(source: Source) -> str:
    """The source as the state knows it: it has a watermark for each split, and of an end."""
    split = source.split if isinstance(source, SplitSource) else None
    by = "" if split is None else f", split by {split}"
    return f"{kind_of(source)} {source.name!r}{by}{', which ends' if source.bounded else ''}"


def _types(grouping: Grouping) -> list[str]:
    return [str(grouping.schema.resolve(name)) for name, _ in grouping.keys] + [
        f"{name} {inputs.of.type if inputs.of else 'row'}"
        for name, _, inputs in grouping.aggregates
    ]


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
    raise RunError(
        "MS207",
        f"the state in {path!r} is of another program than job {name!r}:\n"
        + "\n".join(f"    {line}" for line in change),
        fix="run the program that the state is of (other sinks and other steps without state are "
        "welcome), or give the job another name or checkpoint to begin anew",
    )
