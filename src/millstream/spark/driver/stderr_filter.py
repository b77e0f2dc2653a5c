"""What a Spark that Millstream starts says on standard error: errors, and nothing else."""

from __future__ import annotations

import logging
import os
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from pyspark.logger import PySparkLogger

_NOISE = (
    # Of a module that Spark asks for, before any setting could keep Java from saying so.
    b"WARNING: Using incubator modules: ",
    # Of a worker in which Spark looks at a stateful operator, whatever the log's level; each line
    # has an empty one behind it.
    b"Starting Streaming TransformWithState",
    b"Streaming TransformWithState",
)

# The thread that serves a task's state: what ends it ends the task too, with an error in Python.
_STATE_SERVER = b'Exception in thread "stateConnectionListenerThread"'
_STACK = (b"\tat ", b"\t... ", b"Caused by: ")

LOGGING = f"-Dlog4j2.configurationFile={Path(__file__).with_name('log4j2.properties').as_uri()}"
"""An option of Java: where Spark reads what to log."""


def quiet_errors() -> None:
    """Keeps PySpark from logging each error of SQL as JSON, which it raises as well."""
    for name in ("SQLQueryContextLogger", "DataFrameQueryContextLogger"):
        PySparkLogger.getLogger(name).setLevel(logging.CRITICAL)


@contextmanager
def less_noise() -> Iterator[None]:
    """The output of a Java that is started meanwhile passes through this process, filtered."""
    stderr = os.dup(2)
    said, says = os.pipe()
    os.dup2(says, 2)  # which Java inherits
    threading.Thread(target=_pass_on, args=(said, stderr), daemon=True).start()
    try:
        yield
    finally:
        os.dup2(stderr, 2)
        os.close(says)


def _pass_on(said: int, stderr: int) -> None:
    """Passes lines on until all writers have closed."""
    with open(said, "rb") as lines, open(stderr, "wb", buffering=0) as out:
        noise = stack = False
        for line in lines:
            noise = line.startswith(_NOISE) or (noise and not line.strip())
            stack = line.startswith(_STATE_SERVER) or (stack and line.startswith(_STACK))
            if not noise and not (stack and line.startswith(_STACK)):
                out.write(line)
