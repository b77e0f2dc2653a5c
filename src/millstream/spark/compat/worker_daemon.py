"""The daemon that forks Python workers: what it imports before, and how a worker ends."""

from __future__ import annotations

from importlib import import_module
from socket import socket
from typing import Any

from pyspark import daemon

from millstream.spark.compat.moved import has_module, moved, reach

# Spark's workers import these late, each for itself: pandas alone is most of what they hold.
_IMPORTED = (
    "pandas",
    "pyarrow.pandas_compat",
    "pyspark.sql.streaming.proto.StateMessage_pb2",
    "pyspark.sql.streaming.stateful_processor_api_client",
    "pyspark.testing.utils",
    "pyspark.worker",
)


def import_early() -> None:
    """Imports what each worker would import for itself."""
    for name in _IMPORTED:
        import_module(name)


def serve() -> None:
    """Forks workers until Spark ends the daemon."""
    module: Any = daemon
    module.worker = _without_traceback(module.worker)
    module.manager()


def _without_traceback(worker: Any) -> Any:
    """A worker's life, which ends without a word when Spark needs it no more.

    Where a task fails in Java, Spark closes the connection; PySpark would print a traceback.
    """

    def run(sock: socket, authenticated: bool) -> int:
        try:
            return int(worker(sock, authenticated))
        except (BrokenPipeError, ConnectionResetError):
            return 1

    return run


def check() -> None:
    reach(daemon, "worker")
    reach(daemon, "manager")
    for name in _IMPORTED:
        if name.startswith("pyspark.") and not has_module(name):
            raise moved(name)
