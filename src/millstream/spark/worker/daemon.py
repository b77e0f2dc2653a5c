"""The process that Spark forks Python workers from, on a session that Millstream makes.

What workers need is imported here once, before they are forked, and not in each of them. Importing
starts no threads, which a fork would lose: Polars and Arrow make theirs when they first compute.
A worker collects garbage after each task, and would look through all of that each time, for longer
than many a task takes; so what is there before the fork is never looked at again.
"""

from __future__ import annotations

import gc
from importlib import import_module
from pkgutil import iter_modules
from socket import socket

# Spark's workers import these late, each for itself: pandas alone is most of what they hold.
import pandas  # type: ignore[import-untyped] # noqa: F401
import pyarrow.pandas_compat  # noqa: F401
import pyspark.sql.streaming.proto.StateMessage_pb2
import pyspark.sql.streaming.stateful_processor_api_client
import pyspark.testing.utils
import pyspark.worker  # noqa: F401
from pyspark import daemon

import millstream.spark.worker.processor
import millstream.spark.worker.python_stage
import millstream.spark.worker.stateful_stage  # noqa: F401
from millstream.spark.worker import tasks

for _task in iter_modules(tasks.__path__, f"{tasks.__name__}."):
    import_module(_task.name)

_worker = daemon.worker


def worker(sock: socket, authenticated: bool) -> int:
    """A worker's life, which ends without a word when Spark needs it no more.

    Where a task fails in Java, Spark closes the connection; PySpark would print a traceback.
    """
    try:
        return int(_worker(sock, authenticated))
    except (BrokenPipeError, ConnectionResetError):
        return 1


if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    daemon.worker = worker
    daemon.manager()
