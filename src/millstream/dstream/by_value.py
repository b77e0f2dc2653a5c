"""How functions of this package get to Spark's workers: as code, not as names to import.

So workers need only PySpark, as for DStreams of Spark itself.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator
from contextlib import contextmanager

from millstream.spark.compat.pickler import pickle_by_name, pickle_by_value

_PACKAGE = __name__.rpartition(".")[0]


def sent_by_value() -> None:
    """Has what is defined in this package pickled with its code."""
    pickle_by_value(sys.modules[_PACKAGE])


@contextmanager
def by_name() -> Iterator[None]:
    """Has it pickled by name, for a process that can import it: a run that resumes a program."""
    pickle_by_name(sys.modules[_PACKAGE])
    try:
        yield
    finally:
        sent_by_value()
