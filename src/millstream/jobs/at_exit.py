"""What the end of a program does to its jobs: they are stopped, and no failure stays silent."""

from __future__ import annotations

import atexit
import ctypes
import sys
from typing import Protocol

from millstream.reports.outcome import Outcome, first_line


class Stoppable(Protocol):
    """A streaming job, as far as the program's end is concerned with it."""

    name: str
    outcome: Outcome

    @property
    def over(self) -> bool:
        """Whether it has ended."""

    def leave(self) -> bool:
        """Ends it at once, if it is at a server that would continue it."""

    def stop(self) -> None:
        """Requests its end."""

    def join(self) -> None:
        """Waits for its end."""


_jobs: list[Stoppable] = []


def end_with_the_program(job: Stoppable) -> None:
    """Stops the job when the program ends, before the session that it runs on."""
    _jobs[:] = [each for each in _jobs if not each.over or each.outcome.unseen]
    _jobs.append(job)
    # Functions run in reverse order of registration: this one before those of the session.
    atexit.unregister(_end)
    atexit.register(_end)


def is_running(name: str) -> bool:
    """Whether this program has a streaming job of that name which has not ended.

    A job that has just ended may not have released its checkpoint yet: this waits for it.
    """
    namesakes = [job for job in _jobs if job.name == name]
    for job in namesakes:
        if job.over:
            job.join()
    return any(not job.over for job in namesakes)


def _end() -> None:
    for job in _jobs:
        if not job.over:
            _print(
                f"job {job.name!r} is stopped because the program ends; "
                "write job.wait() to let it run"
            )
        # At its end, the program may consider jobs that continue on a server as ended.
        if not job.leave() and not job.over:
            job.stop()
            job.join()
    failed = [job for job in _jobs if job.outcome.unseen]
    for job in failed:
        _print(f"job {job.name!r} has failed (see the log): {first_line(job.outcome.error)}")
    if failed and not _is_interactive():
        _print("the exit code is 1; to handle a failure, call job.wait() and catch what it raises")
        _exit_with_one()


def _print(line: str) -> None:
    print(f"millstream: {line}", file=sys.stderr)


def _is_interactive() -> bool:
    """Whether the exit code is not the program's: in a notebook, at a prompt, or in pytest."""
    return hasattr(sys, "ps1") or "pytest" in sys.modules


def _exit_with_one() -> None:
    """Makes the exit code 1, whatever Python has set.

    Functions registered with atexit cannot set the exit code. ``os._exit(1)`` would skip those that
    others have registered. So the C library calls ``_exit(1)``, once Python has ended.
    """
    libc = ctypes.CDLL(None)
    leave = ctypes.cast(libc._exit, ctypes.c_void_p)
    libc.__cxa_atexit(leave, ctypes.c_void_p(1), None)
