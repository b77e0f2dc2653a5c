"""The connection of a task to its state, which Spark would leave open for ever."""

from __future__ import annotations

from collections import deque
from typing import Any

from pyspark.sql.streaming.stateful_processor import StatefulProcessorHandle

from millstream.spark.compat.moved import moved, reach

# More than tasks that may end at a time: a worker is free for the next one a little before that.
_open: deque[Any] = deque(maxlen=16)


def leave_open(handle: StatefulProcessorHandle) -> None:
    """Keeps a task's connection to the state open until Spark has closed its own end.

    Spark 4.2 serves the state of a task in a thread of its own. If that receives the end, or finds
    the connection closed, it ends and closes nothing: each task of each batch would leave a file
    open in the executor, for ever. If it still waits when the task has ended, it is interrupted,
    which closes the connection.
    """
    client: Any = handle._statefulProcessorApiClient
    client.set_handle_state = lambda state: None
    _open.append(client)


def check() -> None:
    from pyspark.sql.streaming import stateful_processor_api_client as module

    reach(module, "StatefulProcessorApiClient", "set_handle_state")
    client = object()
    make: Any = StatefulProcessorHandle
    try:
        found = make(client)._statefulProcessorApiClient
    except (AttributeError, TypeError):
        found = None
    if found is not client:
        raise moved("StatefulProcessorHandle._statefulProcessorApiClient")
