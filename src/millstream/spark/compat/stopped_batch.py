"""How Spark knows that a batch in Python ended because its query was stopped: by its text."""

from __future__ import annotations

from typing import Any

from py4j.protocol import Py4JError  # type: ignore[import-untyped] # it has no types

from millstream.spark.compat.jvm import java_object
from millstream.spark.compat.moved import moved

INTERRUPTED = (
    "py4j.protocol.Py4JJavaError: An error occurred while calling a batch:"
    " java.lang.InterruptedException"
)
"""The text of such an error.

Spark searches it with a regular expression, for which a full stack trace is too long.
"""

_HOLDER = "org.apache.spark.sql.execution.streaming.runtime.StreamExecution"


def check(jvm: Any) -> None:
    try:
        known = java_object(jvm, _HOLDER).PROXY_ERROR().pattern().matcher(INTERRUPTED).find()
    except Py4JError:
        known = False
    if not known:
        raise moved(f"the text of errors of batches that were stopped, PROXY_ERROR of {_HOLDER}")
