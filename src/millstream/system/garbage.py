"""How often a worker process looks for garbage."""

from __future__ import annotations

import gc
from functools import cache

_OBJECTS = 100_000
"""So many are made before Python looks for garbage among the new ones; its default is 700."""


@cache
def collect_rarely() -> None:
    """Once in a process: what is there is never looked through again, and what is new seldom.

    Spark has its workers look for garbage after each task. Within a task, a million rows of a
    processor, or records of Kafka, are a million objects, none of which is garbage: to look through
    them again and again takes a third of the time.
    """
    gc.collect()
    gc.freeze()
    gc.set_threshold(_OBJECTS, *gc.get_threshold()[1:])
