"""Spark's classes in the JVM, by Py4J: ``_jvm`` is not public, nor is what it reaches."""

from __future__ import annotations

from typing import Any

from py4j.java_gateway import JavaPackage  # type: ignore[import-untyped] # it has no types
from py4j.protocol import Py4JError  # type: ignore[import-untyped]
from pyspark.sql import SparkSession

from millstream.spark.compat.moved import moved, reach

_LOADER = "org.apache.spark.util.Utils"
_ERRORS = "org.apache.spark.SparkThrowableHelper"


def jvm_of(session: SparkSession) -> Any:
    """The JVM of a session that is not one of Spark Connect."""
    return reach(session.sparkContext, "_jvm")


def java_object(jvm: Any, name: str) -> Any:
    """The static methods of a class; MS222 if there is none of that name.

    Asked for part by part, Py4J would make a call for each package.
    """
    found = getattr(jvm, name)
    if isinstance(found, JavaPackage):  # what Py4J takes any unknown name for
        raise moved(f"the class {name}")
    return found


def java_class(jvm: Any, name: str) -> Any:
    """The class of that name; MS222 if there is none. It is not initialized."""
    try:
        return java_object(jvm, _LOADER).classForName(name, False, False)
    except Py4JError:
        raise moved(f"the class {name}") from None


def error_message(jvm: Any, condition: str, **parameters: str) -> str:
    """What Spark writes for a condition of an error; MS222 if it does not know the condition."""
    try:
        return str(java_object(jvm, _ERRORS).getMessage(condition, parameters))
    except Py4JError:
        raise moved(f"the error {condition}") from None
