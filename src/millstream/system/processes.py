"""Processes that continue after the one that started them, and how to identify them."""

from __future__ import annotations

import getpass
import os
import socket
import subprocess
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from pathlib import Path


@dataclass(frozen=True)
class Process:
    """A process. Its start time distinguishes it from any later process with the same pid.

    If it had already ended, its start is empty.
    """

    pid: int
    started: str

    @classmethod
    def own(cls) -> Process:
        """The current process."""
        return cls(os.getpid(), _started(os.getpid()))

    @property
    def runs(self) -> bool:
        """Whether it still runs.

        >>> Process.own().runs
        True
        >>> Process(Process.own().pid, "before the last reboot").runs
        False
        """
        return self.started != "" and _started(self.pid) == self.started

    def send(self, signal: int) -> None:
        """Sends it a signal, and no other process."""
        if self.runs:
            with suppress(ProcessLookupError):
                os.kill(self.pid, signal)


@cache
def machine() -> str:
    """Identifies where a pid is the same process: a boot of a kernel, and a namespace of pids."""
    with suppress(OSError):
        return f"{_boot()} {os.readlink('/proc/self/ns/pid')}"
    return socket.gethostname()


@cache
def _boot() -> str:
    """Identifies the boot of the kernel."""
    return Path("/proc/sys/kernel/random/boot_id").read_text(encoding="utf-8").strip()


@cache
def _has_proc() -> bool:
    return Path("/proc/self/stat").exists()


def current_user() -> str:
    """The name of the user that this process runs as."""
    try:
        return getpass.getuser()
    except (KeyError, OSError):  # a container may have no name for it
        return str(os.getuid())


def spawn(
    command: Sequence[str],
    *,
    cwd: Path,
    output: Path,
    environment: Mapping[str, str],
    append: bool = False,
) -> Process:
    """Starts a process without parent and terminal, so that it continues when we end."""
    into = ">>" if append else ">"
    shell = subprocess.run(
        ["/bin/sh", "-c", f'"$@" {into}"$0" 2>&1 & echo $!', str(output), *command],
        cwd=cwd,
        env=environment,
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        text=True,
        check=True,
        start_new_session=True,
    )
    pid = int(shell.stdout)
    return Process(pid, _started(pid))


def _started(pid: int) -> str:
    """When a process started, as the system reports it; empty if it does not run."""
    if not _has_proc():
        return _started_by_ps(pid)
    try:
        with open(f"/proc/{pid}/stat", "rb") as file:
            stat = file.read()
    except (FileNotFoundError, ProcessLookupError):
        return ""
    # The name, in brackets, may contain anything; the state follows, as the third field.
    fields = [b"", b"", *stat.rpartition(b")")[2].split()]
    state, threads, started = fields[2], int(fields[19]), fields[21].decode()
    if state in b"ZX" and threads <= 1:  # its first thread may end before the others
        return ""
    return f"{started} ticks after boot {_boot()}"


def _started_by_ps(pid: int) -> str:
    shown = subprocess.run(
        ["ps", "-o", "stat=,lstart=", "-p", str(pid)],
        env={"PATH": os.defpath, "LC_ALL": "C"},
        capture_output=True,
        text=True,
    ).stdout.split(maxsplit=1)
    return "" if not shown or shown[0].startswith("Z") else shown[1].strip()
