"""What PySpark and Py4J keep of the JVM that they have started."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from subprocess import Popen
from typing import Any

from py4j import java_gateway as py4j_gateway  # type: ignore[import-untyped] # it has no types
from pyspark import SparkContext, java_gateway
from pyspark.sql import SparkSession

from millstream.spark.compat.moved import reach

_CONTEXT = ("_gateway", "_jvm", "_active_spark_context")
_SESSION = ("_instantiatedSession", "_activeSession")


def has_context() -> bool:
    """Whether there is a Spark in this process already."""
    return SparkContext._active_spark_context is not None


def jvm_process() -> Popen[bytes] | None:
    """The process of the JVM, unless PySpark was started by it."""
    process: Popen[bytes] | None = getattr(SparkContext._gateway, "proc", None)
    return process


@contextmanager
def starting_by(start: Callable[[Any], Any]) -> Iterator[None]:
    """Lets ``start(Popen)`` replace what PySpark starts processes with."""
    module: Any = java_gateway
    popen = module.Popen
    module.Popen = start(popen)
    try:
        yield
    finally:
        module.Popen = popen


def forget_jvm() -> None:
    """Lets PySpark start a new JVM: the one that it has started has ended."""
    context = SparkContext._active_spark_context
    with suppress(Exception):  # Py4J and sockets raise many things where the JVM is gone
        SparkContext._gateway.shutdown()  # type: ignore[union-attr]
    if context is not None:
        context._jsc = None
        context.stop()
    SparkContext._gateway = SparkContext._jvm = None
    SparkSession._instantiatedSession = SparkSession._activeSession = None


def end_quietly(session: SparkSession) -> None:
    """Keeps PySpark and Py4J from printing tracebacks of their own when the JVM ends."""
    py4j_gateway.logging = py4j_gateway.logger  # the root logger would print it
    server: Any = reach(session.sparkContext, "_accumulatorServer")
    server.handle_error = lambda *_: None


def run_workers_by(session: SparkSession, command: str) -> None:
    """Has Spark run Python by another command."""
    reach(session.sparkContext, "pythonExec")
    session.sparkContext.pythonExec = command


def check() -> None:
    for name in _CONTEXT:
        reach(SparkContext, name)
    for name in _SESSION:
        reach(SparkSession, name)
    reach(java_gateway, "Popen")
    reach(py4j_gateway, "logger")
    reach(py4j_gateway, "logging")
