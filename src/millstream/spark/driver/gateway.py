"""The JVM that PySpark has started: whether it is still there, and what is left where it is not."""

from __future__ import annotations

import signal
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen, TimeoutExpired
from typing import Any

from py4j.protocol import (  # type: ignore[import-untyped]
    Py4JError,
    Py4JJavaError,
    Py4JNetworkError,
)
from pyspark.sql import SparkSession

from millstream.model.errors import RunError
from millstream.spark.compat.gateway import forget_jvm, jvm_process, starting_by
from millstream.system.interrupts import interruptible, on_interrupt

_SOON = 2.0  # seconds from the end of a JVM's connections to its own


def lost_jvm(error: BaseException) -> bool:
    """Whether an error is that of a call to a JVM that has ended."""
    if not isinstance(error, Py4JError | ConnectionError) or isinstance(error, Py4JJavaError):
        return False
    process = jvm_process()
    if process is None:  # nobody knows of it
        return isinstance(error, Py4JNetworkError | ConnectionError)
    return _has_ended(process, _SOON)


def jvm_ended() -> RunError:
    """The error of a program whose JVM has ended, though nobody asked for it."""
    process = jvm_process()
    code = None if process is None else process.returncode
    how = "" if code is None else f" (signal {-code})" if code < 0 else f" (exit code {code})"
    return RunError(
        "MS221",
        f"Spark's JVM has ended{how}: it was killed, or had too little memory",
        fix="run the job again: with a checkpoint it resumes, and each result is written once. If "
        "it happens again, see the system's log, or give Java more memory: set "
        "PYSPARK_SUBMIT_ARGS='--driver-memory 4g pyspark-shell'",
    )


def started_jvm(session: Callable[[], SparkSession]) -> SparkSession:
    """A session that may have to start a JVM. Ctrl-C ends that JVM, and the waiting."""
    with _processes() as processes, on_interrupt(signal.default_int_handler):
        try:
            return interruptible(session)
        except KeyboardInterrupt:
            for process in processes.end():
                process.kill()
                process.wait()
            forget_ended_jvm()
            raise


class _Processes:
    """The processes that PySpark starts, until ``end`` is called: then it can start no more."""

    def __init__(self, popen: Callable[..., Popen[bytes]]) -> None:
        self._popen = popen
        self._started: list[Popen[bytes]] = []
        self._ended = False
        self._lock = threading.Lock()

    def start(self, *arguments: Any, **options: Any) -> Popen[bytes]:
        """Takes the place of ``Popen``.

        What is started has a process group of its own: a signal that a service manager sends to the
        group of the program, to end it, would else end Java under a job that is about to stop. It
        ends by itself when the program has ended.
        """
        with self._lock:
            if self._ended:
                raise KeyboardInterrupt
            self._started.append(self._popen(*arguments, process_group=0, **options))
            return self._started[-1]

    def end(self) -> list[Popen[bytes]]:
        """All that were started."""
        with self._lock:
            self._ended = True
            return self._started


@contextmanager
def _processes() -> Iterator[_Processes]:
    """Notes the processes that PySpark starts meanwhile."""
    made: list[_Processes] = []

    def start(popen: Callable[..., Popen[bytes]]) -> Callable[..., Popen[bytes]]:
        made.append(_Processes(popen))
        return made[0].start

    with starting_by(start):
        yield made[0]


def forget_ended_jvm() -> None:
    """Lets PySpark start a new JVM if the one that it has started has ended."""
    process = jvm_process()
    if process is not None and _has_ended(process, 0):
        forget_jvm()


def _has_ended(process: Popen[bytes], seconds: float) -> bool:
    """Whether a process has ended, after a wait of so many seconds for it."""
    with suppress(TimeoutExpired):
        process.wait(seconds)
    return process.returncode is not None
