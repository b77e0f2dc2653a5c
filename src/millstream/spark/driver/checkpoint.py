"""The folder in which a job keeps what it needs to resume: Spark's checkpoint, and its own plan."""

from __future__ import annotations

import json
import re
import shutil
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from difflib import unified_diff
from typing import Any

from millstream.engine.state.blobs import VERSION
from millstream.model.errors import MillstreamError, RunError
from millstream.physical.plan import Physical
from millstream.physical.resume import (
    NAMES,
    OF,
    can_resume,
    check_distinguishable,
    lost_parts,
    stateful_plan,
)
from millstream.reports.tracebacks import instead_of
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.spark.compat.messages import BEGUN_TWICE
from millstream.spark.driver.damage import PLAN, check_logs, check_no_state, kept_plan
from millstream.spark.driver.ownership import Owner
from millstream.spark.driver.scratch import scratch_folder
from millstream.spark.driver.stopped_batch import forget_untouched
from millstream.spark.sources.file_tasks import FileTasks
from millstream.system.folders import AGAIN, Folder

_PROBE = "probe.tmp"
_FULL = re.compile("No space left on device|Disk quota exceeded")


@dataclass(frozen=True)
class Checkpoint:
    """Where a job keeps its state. ``run`` is the id of its life, ``labels`` name its shards.

    ``file_tasks`` is how it reads files, where that must stay the same. ``owner`` is this process's
    ownership of the folder. A folder that nobody named is ``fleeting``: it goes when the job has
    ended, and has no owner, for no other process knows it.
    """

    name: str
    folder: str
    run: str
    labels: list[int]
    file_tasks: FileTasks | None
    fleeting: bool
    owner: Owner | None = None

    @property
    def fence(self) -> Fence:
        """What each commit has to pass."""
        return NO_FENCE if self.owner is None else self.owner.fence

    def check_owned(self) -> None:
        """MS351: another process has taken the job over, as far as this one has noticed."""
        if self.owner is not None and self.owner.overtaken is not None:
            raise self.owner.overtaken

    def cause_of(self, error: BaseException) -> BaseException:
        """What is behind the error that ended the job, if that can be found out here.

        It has been overtaken (MS351), or the checkpoint cannot be written (MS211).
        """
        if isinstance(error, MillstreamError) and error.code == "MS351":
            return error
        try:
            self.fence.check()
            if BEGUN_TWICE in str(error):
                raise self._woken()
            if isinstance(error, Exception) and not isinstance(error, MillstreamError):
                self._check_writable(str(error))
        except MillstreamError as cause:
            return error if cause is error else instead_of(error, cause)
        return error

    def _woken(self) -> RunError:
        """The error of an owner whose predecessor woke up, and noted the next batch before it."""
        return RunError(
            "MS351",
            f"a process that owned the checkpoint of job {self.name!r} before has woken up and "
            "begun the next batch; it can commit nothing, but Spark lets no other begin it now",
            fix="run the job again: it resumes with that batch, and nothing is lost",
        )

    def _check_writable(self, error: str) -> None:
        """MS211: the disk is full, or read-only, or not for this user.

        Spark says only what the system said. A file that can be written now may just have found
        the room that Spark has given up; so of a full disk, Spark's word is taken.
        """
        place = Folder.of(self.name, self.folder, "checkpoint")
        with place.errors():
            with place.create(_PROBE) as stream:
                stream.write(b"x" * 4096)
            place.remove(_PROBE)
        if full := _FULL.search(error):
            cause = f"{full[0]}, there or where Spark keeps temporary files"
            raise place.failure(cause, f"make room in both, {AGAIN}")

    @contextmanager
    def closed_on_failure(self) -> Iterator[None]:
        """Closes it if the job cannot start."""
        try:
            yield
        except BaseException as error:
            cause = self.cause_of(error)
            self.close()
            if cause is error:
                raise
            raise cause from error

    def close(self) -> None:
        """Removes a folder that was only for this run, and lets the next run have any other."""
        if self.fleeting:
            shutil.rmtree(self.folder, ignore_errors=True)
        if self.owner is not None:
            self.owner.release()


def opened(
    name: str,
    given: str | None,
    plan: Physical,
    labels: list[int],
    file_tasks: FileTasks | None,
    owner: Owner | None = None,
) -> Checkpoint:
    """The job's checkpoint: the one that it has, if the plan can resume from it, or a new one."""
    if given is None:
        folder = scratch_folder()
        return Checkpoint(name, folder, uuid.uuid4().hex, labels, None, fleeting=True)
    check_distinguishable(plan)
    path = f"{given.rstrip('/')}/{name}"
    place = Folder.of(name, path, "checkpoint")
    with place.errors():
        if PLAN in place.names():
            before = kept_plan(place)
            kept = {**before, "plan": stateful_plan(plan)}
            _check(name, path, before["plan"], kept["plan"])
            check_logs(place, plan.sources)
            forget_untouched(place)
            if kept != before:
                _write(place, kept)  # from now on the state has more
        else:
            check_no_state(place)
            place.make("")
            kept = {
                "version": VERSION,
                "run": uuid.uuid4().hex,
                "labels": labels,
                "file_tasks": file_tasks,
                "plan": stateful_plan(plan),
            }
            _write(place, kept)
    return Checkpoint(name, path, kept["run"], kept["labels"], kept["file_tasks"], False, owner)


def check_resumes(name: str, folder: str, plan: Physical) -> None:
    """MS207 if a program cannot resume from the state that is in the folder of a job."""
    check_distinguishable(plan)
    place = Folder.of(name, folder, "checkpoint")
    with place.errors():
        if PLAN in place.names():
            _check(name, folder, kept_plan(place)["plan"], stateful_plan(plan))


def _write(place: Folder, kept: dict[str, Any]) -> None:
    # Under another name first: whoever is killed while writing leaves no half of a plan.
    with place.create(f"{PLAN}.tmp") as stream:
        stream.write(json.dumps(kept, indent=2, ensure_ascii=False).encode())
    place.move(f"{PLAN}.tmp", to=PLAN)


def _check(name: str, path: str, before: list[str], now: list[str]) -> None:
    if can_resume(before, now):
        return
    change = list(unified_diff(before, now, "checkpoint", "program", lineterm="", n=2))
    fix = (
        "run the program that the state is of (other sinks and other steps without state are "
        "welcome), or give the job another name or checkpoint to start over"
    )
    if any(line[1:].startswith(OF) for line in change if line[0] in "+-"):
        fix = (
            "leave the order of the sinks, and the steps before those without a name, as they "
            f"were: nothing else distinguishes them. Or start over, with names: {NAMES}"
        )
    lost = list(lost_parts(before, now))
    if lost:
        fix = (
            "leave the fields and timers that the state has as they are, and add others, or give "
            "the job another name or checkpoint to start over"
        )
    raise RunError(
        "MS207",
        f"the state in {path!r} is of another program than job {name!r}:\n"
        + "\n".join(f"    {line}" for line in [*lost, *change]),
        fix=fix,
    )
