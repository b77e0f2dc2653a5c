"""Who may run on a checkpoint: one process at a time, which is noted there and shows that it lives.

    owner/0000000003.json            the owner: who it is; never changed
    owner/0000000003-<token>.beat    its heartbeat, replaced every few seconds

A process becomes the owner by creating the next record, which only one can where the file system
creates files exclusively. Where it does not, as in an object store, two that start at the same
moment may both believe it; the record then has the token of one of them, and the fence stops the
other before it commits.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import sys
import threading
import time
import uuid
from contextlib import suppress
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from millstream.model.errors import MillstreamError, RunError
from millstream.sinks.fence import Fence, Record, newest_record, record_name
from millstream.system.folders import Folder
from millstream.system.processes import Process, current_user, machine

_log = logging.getLogger(__name__)

BEATS = 5.0
"""Seconds between two heartbeats."""
STALE = 30.0
"""Seconds without a heartbeat after which an owner is taken for dead."""
_LOOKS = 0.25


@dataclass(frozen=True)
class Beat:
    """A heartbeat. ``clock`` is of the owner's machine, and means something only there."""

    count: int
    clock: float
    at: str
    released: bool

    @classmethod
    def of(cls, place: Folder, record: Record) -> Beat:
        """The newest heartbeat of an owner; one that has none yet has just begun."""
        beat: Any = {}
        with suppress(ValueError, FileNotFoundError):
            beat = json.loads(place.read(_beat_name(record.number, record.token)))
        about = record.about
        begun = {"count": 0, "clock": about.get("clock", 0.0), "at": about.get("since", "unknown")}
        return cls(**{"released": False, **begun, **beat})


class Owner:
    """This process's ownership of a checkpoint, from ``take`` until ``release``.

    A daemon thread shows that the process lives, and notices when another one has come after it:
    then ``overtaken`` is the error, which ends the job.
    """

    def __init__(self, place: Folder, fence: Fence) -> None:
        self.fence = fence
        self.overtaken: MillstreamError | None = None
        self._place = place
        self._beats = 0
        self._ending = threading.Event()
        self._thread = threading.Thread(target=self._show_life, daemon=True)
        self._thread.name = f"millstream-owner-{fence.job}"
        self._thread.start()

    @classmethod
    def take(cls, job: str, checkpoint: str, take_over: bool = False) -> Owner:
        """Makes this process the owner; MS209 where another one is and lives.

        With ``take_over`` it becomes the owner in any case, and the other one can commit no more.
        """
        folder = f"{checkpoint.rstrip('/')}/{job}/owner"
        place = Folder.of(job, folder, "checkpoint")
        token = uuid.uuid4().hex[:8]
        with place.errors():
            place.make("")
            while True:
                record = newest_record(place)
                if record is not None and not take_over:
                    _wait_until_free(job, place, record)
                number = 1 if record is None else record.number + 1
                about = json.dumps({"token": token, "job": job, **_about_this_process()})
                if place.create_new(record_name(number), about.encode()):
                    break  # else another process was faster: look who
            for name in place.names():
                if name[:10].isdecimal() and int(name[:10]) < number:
                    place.remove(name)
        return cls(place, Fence(job, folder, number, token))

    def release(self) -> None:
        """Lets the next process begin at once."""
        if self._ending.is_set():
            return
        self._ending.set()
        self._thread.join()
        with suppress(MillstreamError, OSError):  # overtaken, or the folder is gone
            self.fence.check()
            self._beat(released=True)

    def _show_life(self) -> None:
        while True:
            try:
                self._beat()
                if self._ending.wait(BEATS):
                    return
                self.fence.check()
            except Exception as error:  # what a file system may raise; the next try may succeed
                if isinstance(error, MillstreamError) and error.code == "MS351":
                    self.overtaken = error
                    return
                _log.warning("the heartbeat of job %r failed: %s", self.fence.job, error)
                if self._ending.wait(BEATS):
                    return

    def _beat(self, released: bool = False) -> None:
        self._beats += 1
        beat = {"count": self._beats, "clock": time.monotonic(), "at": _now(), "released": released}
        name = _beat_name(self.fence.number, self.fence.token)
        with self._place.errors():
            with self._place.create(f"{name}.tmp") as stream:
                stream.write(json.dumps(beat).encode())
            self._place.move(f"{name}.tmp", to=name)


def _wait_until_free(job: str, place: Folder, record: Record) -> None:
    """Returns once the owner is known to be gone; MS209 as soon as it is known to live.

    Clocks of two machines are never compared: on another machine, a heartbeat that changes while
    it is watched is a sign of life, and one that does not change for ``STALE`` seconds is none.
    """
    first = Beat.of(place, record)
    if first.released:
        return
    quiet = 0.0
    if record.about.get("machine") == machine():
        if not Process(record.about.get("pid", 0), record.about.get("started", "")).runs:
            return
        quiet = time.monotonic() - first.clock
        if quiet < 2 * BEATS:
            raise _refused(job, place, record, first)
    _log.warning("job %r: waiting to see whether its owner lives: %s", job, record)
    until = time.monotonic() + STALE - quiet
    while time.monotonic() < until:
        time.sleep(_LOOKS)
        newest = newest_record(place) or record
        beat = Beat.of(place, newest)
        if beat.released:
            return
        if newest.number != record.number or beat != first:
            raise _refused(job, place, newest, beat)


def _refused(job: str, place: Folder, record: Record, beat: Beat) -> RunError:
    return RunError(
        "MS209",
        f"job {job!r} runs already, on the same checkpoint {place.path.rpartition('/')[0]!r}: "
        f"{record}, last heartbeat {beat.at}",
        fix="let that one run, or stop it first. If it is dead, run this again: after "
        f"{STALE:.0f} s without a heartbeat a job is replaced. To replace it at once, write "
        "run(…, take_over=True)",
    )


def _about_this_process() -> dict[str, Any]:
    process = Process.own()
    return {
        "user": current_user(),
        "host": socket.gethostname(),
        "machine": machine(),
        "pid": process.pid,
        "started": process.started,
        "program": os.path.basename(sys.argv[0]) or "python",
        "since": _now(),
        "clock": time.monotonic(),
    }


def _now() -> str:
    return f"{datetime.now(UTC):%Y-%m-%d %H:%M:%S} UTC"


def _beat_name(number: int, token: str) -> str:
    return f"{number:010}-{token}.beat"
