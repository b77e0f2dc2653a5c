"""The pickler inside PySpark, by which functions travel to workers."""

from __future__ import annotations

from collections.abc import Mapping

from pyspark import cloudpickle

from millstream.spark.compat.moved import moved, reach

Pickler = cloudpickle.CloudPickler
"""The class, whose ``dispatch_table`` says how values of some types are taken apart."""


def pickled_by_value() -> set[str]:
    """The modules that a program has registered to travel whole."""
    registered: set[str] = cloudpickle.list_registry_pickle_by_value()  # type: ignore[no-untyped-call]
    return registered


def check() -> None:
    table = reach(cloudpickle, "CloudPickler", "dispatch_table")
    if not isinstance(table, Mapping):  # that of the class that it extends is none
        raise moved("pyspark.cloudpickle.CloudPickler.dispatch_table")
    reach(cloudpickle, "list_registry_pickle_by_value")
