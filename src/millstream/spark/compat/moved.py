"""The error for a Spark in which something is not where Millstream expects it."""

from __future__ import annotations

from importlib.machinery import ModuleSpec, PathFinder
from typing import Any

from millstream.model.errors import RunError
from millstream.spark.compat.versions import installed_pyspark

TESTED = "4.2.0"
"""The version of PySpark that Millstream is tested with."""


def moved(what: str) -> RunError:
    """MS222: the installed Spark does not have ``what``, or has changed it.

    >>> print(moved("pyspark.daemon.worker").what)
    PySpark 4.2.0 has moved or changed pyspark.daemon.worker, which Millstream needs
    """
    return RunError(
        "MS222",
        f"PySpark {installed_pyspark()} has moved or changed {what}, which Millstream needs",
        fix=f"pip install pyspark=={TESTED}, the version that Millstream is tested with",
    )


def reach(owner: Any, *names: str) -> Any:
    """An attribute, or the attribute of an attribute; MS222 if it is not there."""
    found = owner
    for name in names:
        try:
            found = getattr(found, name)
        except AttributeError:
            place = getattr(owner, "__qualname__", None) or getattr(owner, "__name__", str(owner))
            module = getattr(owner, "__module__", None)
            raise moved(".".join(filter(None, (module, place, *names)))) from None
    return found


def has_module(name: str) -> bool:
    """Whether a module could be imported. Unlike ``find_spec``, it does not import its packages.

    >>> has_module("pyspark.testing.utils"), has_module("pyspark.testing.no_such_module")
    (True, False)
    """
    found: ModuleSpec | None = None
    package = ""
    for part in name.split("."):
        package = f"{package}.{part}".lstrip(".")
        within = None if found is None else found.submodule_search_locations
        found = PathFinder.find_spec(package, within)
        if found is None:
            return False
    return True
