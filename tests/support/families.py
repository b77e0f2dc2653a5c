"""A process with all that it starts, which a test can watch, and kill as a whole.

A job is a driver in Python, Spark's JVM, and Python workers, which Spark puts into groups of their
own: so a group is not all of it, but a session is.
"""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path
from types import TracebackType
from typing import Any

_AT_LAST = 20.0


class Family:
    """A Python script in a session of its own. Leaving the ``with`` block ends all that is left."""

    def __init__(
        self,
        script: Path,
        *arguments: Any,
        log: Path,
        scratch: Path,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self.log = log
        scratch.mkdir(parents=True, exist_ok=True)
        # Who is killed cleans nothing up: what Spark leaves behind goes with the test's folder.
        places = {
            "TMPDIR": str(scratch),
            "SPARK_LOCAL_DIRS": str(scratch),
            "SPARK_SUBMIT_OPTS": f"{environment.get('SPARK_SUBMIT_OPTS', '')} "
            f"-Djava.io.tmpdir={scratch}",
        }
        with log.open("ab") as output:
            self.process = subprocess.Popen(
                [sys.executable, str(script), *map(str, arguments)],
                stdin=subprocess.PIPE,
                stdout=output,
                stderr=output,
                env={**environment, **places},
                start_new_session=True,
            )

    def __enter__(self) -> Family:
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.kill()

    def ended(self, within: float) -> int:
        """The exit code: minus the signal's number where one ended it."""
        try:
            return self.process.wait(within)
        except subprocess.TimeoutExpired:
            raise AssertionError(f"still running after {within:.0f} s:\n{self.printed()}") from None

    def printed(self) -> str:
        """The end of what it has printed."""
        return self.log.read_text(errors="replace")[-8000:]

    def members(self) -> list[int]:
        """The processes that are alive."""
        listed = subprocess.run(
            ["ps", "-A", "-o", "pid=,stat="], capture_output=True, text=True, check=True
        )
        processes = (line.split() for line in listed.stdout.splitlines())
        alive = [int(pid) for pid, state in processes if not state.startswith("Z")]
        return [pid for pid in alive if _session(pid) == self.process.pid]

    def send(self, number: int) -> None:
        """Sends a signal to all groups of the session, the driver's and Spark's first."""
        others = {_group(pid) for pid in self.members()} - {None, self.process.pid}
        for group in [self.process.pid, *sorted(others)]:
            with suppress(ProcessLookupError):
                os.killpg(group, number)

    def kill(self) -> None:
        """Kills all groups of the session at once, the driver's and Spark's first."""
        end = time.monotonic() + _AT_LAST
        groups = [self.process.pid]
        while groups:
            for group in groups:
                with suppress(ProcessLookupError, PermissionError):
                    os.killpg(group, signal.SIGKILL)
            self.process.poll()
            assert time.monotonic() < end, f"not to be killed: {self.members()}"
            time.sleep(0.02)
            groups = sorted({_group(pid) for pid in self.members()} - {None})
        self.process.wait(_AT_LAST)
        if self.process.stdin is not None:
            self.process.stdin.close()


def bound_to_its_test() -> None:
    """Ends this family when the test's process has ended, however that was; for the script."""

    def watch() -> None:
        sys.stdin.read()  # nobody writes there: it ends when the test's process does
        os.killpg(0, signal.SIGKILL)

    threading.Thread(target=watch, daemon=True).start()


def _session(pid: int) -> int | None:
    with suppress(ProcessLookupError, PermissionError):
        return os.getsid(pid)
    return None


def _group(pid: int) -> int | None:
    with suppress(ProcessLookupError):
        return os.getpgid(pid)
    return None
