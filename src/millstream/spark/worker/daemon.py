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

import millstream.spark.worker.processor
import millstream.spark.worker.python_stage
import millstream.spark.worker.stateful_stage  # noqa: F401
from millstream.spark.compat.worker_daemon import import_early, serve
from millstream.spark.worker import tasks

for _task in iter_modules(tasks.__path__, f"{tasks.__name__}."):
    import_module(_task.name)

import_early()

if __name__ == "__main__":
    gc.collect()
    gc.freeze()
    serve()
