"""The pickler inside PySpark, by which functions travel to workers."""

from __future__ import annotations

from collections.abc import Mapping
from types import ModuleType
from typing import Any

from pyspark import cloudpickle

from millstream.spark.compat.moved import moved, reach

Pickler = cloudpickle.CloudPickler
"""The class, whose ``dispatch_table`` says how values of some types are taken apart."""

_untyped: Any = cloudpickle


def pickled_by_value() -> set[str]:
    """The modules that a program has registered to travel whole."""
    registered: set[str] = _untyped.list_registry_pickle_by_value()
    return registered


def pickle_by_value(module: ModuleType) -> None:
    """Has what a module defines travel with its code: workers need not have it."""
    _untyped.register_pickle_by_value(module)


def pickle_by_name(module: ModuleType) -> None:
    """The opposite: what a module defines is imported where it arrives."""
    _untyped.unregister_pickle_by_value(module)


def pickled_with_code(value: Any) -> bytes:
    """A value as PySpark would send it, with functions of the program in it."""
    made: bytes = _untyped.dumps(value)
    return made


def check() -> None:
    table = reach(cloudpickle, "CloudPickler", "dispatch_table")
    if not isinstance(table, Mapping):  # that of the class that it extends is none
        raise moved("pyspark.cloudpickle.CloudPickler.dispatch_table")
    for name in ("list_registry", "register", "unregister"):
        reach(cloudpickle, f"{name}_pickle_by_value")
    reach(cloudpickle, "dumps")
