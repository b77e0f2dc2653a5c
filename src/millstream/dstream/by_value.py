"""How functions of this package get to Spark's workers: as code, not as names to import.

So workers need only PySpark, as for DStreams of Spark itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from pyspark import cloudpickle

_PACKAGE = __name__.rpartition(".")[0]


def sent_by_value() -> None:
    """Has what is defined in this package pickled with its code."""
    _cloudpickle.register_pickle_by_value(sys.modules[_PACKAGE])


@contextmanager
def by_name() -> Iterator[None]:
    """Has it pickled by name, for a process that can import it: a run that resumes a program."""
    _cloudpickle.unregister_pickle_by_value(sys.modules[_PACKAGE])
    try:
        yield
    finally:
        sent_by_value()


_cloudpickle: Any = cloudpickle
"""Its functions have no types."""
