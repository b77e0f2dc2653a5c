"""The number of a batch, which Spark gives to the tasks of a streaming query."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types
from pyspark import TaskContext

from millstream.model.errors import RunError
from millstream.spark.compat.jvm import java_object
from millstream.spark.compat.moved import moved

_PROPERTY = "streaming.sql.batchId"
_HOLDER = "org.apache.spark.sql.execution.streaming.runtime.MicroBatchExecution"


def batch_of_this_task() -> int:
    """The number of the batch that the task is part of; MS206 if Spark does not say.

    Without its number, a batch could be taken for one that was written before, and lost.
    """
    context = TaskContext.get()
    number = context.getLocalProperty(_PROPERTY) if context else None
    if number is None:
        raise RunError(
            "MS206",
            f"Spark does not tell its tasks the number of their batch ({_PROPERTY})",
            fix="run the job with the version of PySpark that Millstream was installed with",
        )
    return int(number)


def check(jvm: Any) -> None:
    try:
        found = java_object(jvm, _HOLDER).BATCH_ID_KEY()
    except Py4JError:
        found = None
    if found != _PROPERTY:
        raise moved(f"the property {_PROPERTY} of {_HOLDER}")
