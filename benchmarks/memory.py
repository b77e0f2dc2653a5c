"""How much memory a contender uses: all processes of its session, from /proc."""

from __future__ import annotations

import os
import threading
from contextlib import suppress
from pathlib import Path
from types import TracebackType

_PAGE = os.sysconf("SC_PAGE_SIZE")
_EVERY_SECONDS = 0.2


def processes(session: int) -> list[Path]:
    """The /proc folders of a session: a contender's Python, its JVM, and Spark's workers."""
    return [each for each in Path("/proc").glob("[0-9]*") if _session_of(each) == session]


def _session_of(process: Path) -> int | None:
    with suppress(OSError, ValueError, IndexError):
        # The name, in brackets before the rest, may have spaces.
        return int((process / "stat").read_text().rpartition(")")[2].split()[3])
    return None


def memory(session: int) -> tuple[int, int]:
    """The memory of the JVM and of Python, in bytes.

    Python's workers are forks and share pages, so each counts its share of them (PSS). The JVM
    shares nothing; to ask it for shares would stop it for a while. When it runs a command, it is
    there twice for a moment, with the same memory.
    """
    java = python = 0
    for process in processes(session):
        with suppress(OSError):  # it may have ended
            if (process / "exe").readlink().name == "java":
                java = max(java, int((process / "statm").read_text().split()[1]) * _PAGE)
            else:
                python += _share(process)
    return java, python


def processor_seconds(session: int) -> float:
    """The processor time of a session, with that of processes which have ended."""
    ticks = 0
    for process in processes(session):
        with suppress(OSError, ValueError, IndexError):
            ticks += sum(map(int, (process / "stat").read_text().rpartition(")")[2].split()[11:15]))
    return ticks / os.sysconf("SC_CLK_TCK")


def _share(process: Path) -> int:
    for line in (process / "smaps_rollup").read_text().splitlines():
        if line.startswith("Pss:"):
            return int(line.split()[1]) * 1024
    return 0


class Peak:
    """The most memory that a session had at a time, from the beginning until this is closed.

    ``most_python`` is the most that Python alone had, which may have been at another time.
    """

    def __init__(self, session: int) -> None:
        self.total = self.java = self.python = 0
        self.most_python = 0
        self._session = session
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def __enter__(self) -> Peak:
        self._thread.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.close()

    def close(self) -> None:
        """What follows does not count."""
        self._over.set()
        self._thread.join()

    def _watch(self) -> None:
        while not self._over.wait(_EVERY_SECONDS):
            java, python = memory(self._session)
            self.most_python = max(self.most_python, python)
            if java + python > self.total:
                self.total, self.java, self.python = java + python, java, python
