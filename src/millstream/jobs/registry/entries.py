"""What the registry has of a job: the job itself, its runs, and its metrics over time."""

from __future__ import annotations

import json
import socket
import time
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any, Literal

from millstream.system.processes import Process, machine

JobState = Literal["starting", "running", "stopping", "stopped", "finished", "failed", "lost"]
"""Where a job is; ``lost`` is one whose process has died without a word."""

ALIVE: frozenset[JobState] = frozenset({"starting", "running", "stopping"})

SILENT = 30.0
"""Seconds without a sign of life after which a process of another machine is taken for dead."""


@dataclass(frozen=True)
class Place:
    """A process on a machine."""

    process: Process
    machine: str
    host: str

    @classmethod
    def own(cls) -> Place:
        """That of this process."""
        return cls(Process.own(), machine(), socket.gethostname())

    @classmethod
    def parse(cls, text: str) -> Place:
        """A place as the registry has it."""
        pid, started, machine, host, *_ = json.loads(text)
        return cls(Process(pid, started), machine, host)

    def __str__(self) -> str:
        return json.dumps([self.process.pid, self.process.started, self.machine, self.host])

    @property
    def is_here(self) -> bool:
        """Whether it is on this machine, so that this process can see whether it runs."""
        return self.machine == machine()

    def runs(self, beat: float, now: float) -> bool:
        """Whether the process runs; elsewhere, whether its last sign of life is recent."""
        return self.process.runs if self.is_here else now - beat < SILENT


@dataclass(frozen=True)
class RunEntry:
    """One run of a job: from its start to its end. Times are in seconds since 1970."""

    id: str
    number: int
    state: JobState
    reason: str | None
    code: str | None
    user: str
    place: Place
    started: float
    ended: float | None
    stop: bool
    """Whether somebody has asked it to stop."""
    progress: dict[str, Any] | None
    """As ``Progress.to_dict``, after the last batch."""

    def to_dict(self) -> dict[str, Any]:
        """The run as a dict, which can be written as JSON."""
        return {
            "number": self.number,
            "state": self.state,
            "reason": self.reason,
            "code": self.code,
            "user": self.user,
            "host": self.place.host,
            "pid": self.place.process.pid,
            "started": moment_text(self.started),
            "ended": None if self.ended is None else moment_text(self.ended),
            "progress": self.progress,
        }


@dataclass(frozen=True)
class JobEntry:
    """A job, with its last run."""

    id: str
    name: str
    owner: str
    program: str
    checkpoint: str
    created: float
    plan: dict[str, Any] | None
    launch: dict[str, Any] | None
    """How ``millstream run`` starts it; None if it was started otherwise."""
    supervisor: Place | None
    """What starts it again when it has failed, if that runs."""
    awaited: int
    """The number of the first run that this supervisor starts."""
    run: RunEntry | None
    """None if it was never started."""

    @property
    def state(self) -> JobState:
        """That of its last run; it is starting if a supervisor is about to start the next."""
        if self.run is None:
            return "starting" if self.supervisor else "lost"
        is_next = self.run.state in ("failed", "lost") or self.run.number < self.awaited
        return "starting" if self.supervisor and is_next else self.run.state

    @property
    def is_alive(self) -> bool:
        """Whether a process runs it, or is about to."""
        return self.state in ALIVE or self.supervisor is not None

    def to_dict(self) -> dict[str, Any]:
        """The job as a dict, which can be written as JSON."""
        run = self.run
        return {
            "id": self.id,
            "name": self.name,
            "state": self.state,
            "reason": None if run is None else run.reason,
            "code": None if run is None else run.code,
            "owner": self.owner,
            "program": self.program,
            "checkpoint": self.checkpoint,
            "created": moment_text(self.created),
            "run": None if run is None else run.to_dict(),
            "plan": self.plan,
        }


def run_entry(row: Any, now: float | None = None) -> RunEntry:
    """A row of the table ``run``; a run whose process has died is lost."""
    now = time.time() if now is None else now
    run = RunEntry(
        id=row["id"],
        number=row["number"],
        state=row["state"],
        reason=row["reason"],
        code=row["code"],
        user=row["user"],
        place=Place.parse(row["process"]),
        started=row["started"],
        ended=row["ended"],
        stop=bool(row["stop"]),
        progress=json.loads(row["progress"]) if row["progress"] else None,
    )
    if run.state not in ALIVE or run.place.runs(row["beat"], now):
        return run
    process = f"process {run.place.process.pid} on {run.place.host}"
    return replace(run, state="lost", reason=f"{process} died without a word", ended=row["beat"])


def moment_text(seconds: float) -> str:
    """A time as text.

    >>> moment_text(0)
    '1970-01-01T00:00:00+00:00'
    """
    return datetime.fromtimestamp(int(seconds), UTC).isoformat()
