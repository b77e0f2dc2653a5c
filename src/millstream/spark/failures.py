"""What went wrong in a worker, said by the driver: Spark hands on only text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from millstream.model.errors import CODES, KafkaError, MillstreamError, PlanError, RunError
from millstream.spark.kafka_failures import client_error, lost_records

_TOLD = re.compile(
    r"millstream\.model\.errors\.\w+: (?P<code>MS\d{3})(?: in step '(?P<step>[^\n]*?)')?: "
    r"(?P<what>.*?)\n  What to do: (?P<fix>.*?)\n  More: ",
    re.DOTALL,
)

_NOT_THERE = "ModuleNotFoundError: No module named 'millstream'"


@contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark that carry one of ours become that one."""
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:
        found = _TOLD.search(str(error))
        if lost := lost_records(str(error)):
            raise lost from error
        if _NOT_THERE in str(error):
            raise _not_there() from error
        if found is None or found["code"] not in CODES:
            if of_kafka := client_error(str(error)):
                raise of_kafka from error
            raise
        kind = {"1": PlanError, "2": RunError, "3": KafkaError}[found["code"][2]]
        raise kind(found["code"], found["what"], fix=found["fix"], step=found["step"]) from error


def _not_there() -> RunError:
    """The error of workers of a cluster, or of a process of a server of Spark Connect."""
    return RunError(
        "MS206",
        "the Python that Spark runs functions with does not have Millstream",
        fix=f"install millstream {version('millstream')} where Spark's workers are, and its server "
        "if there is one, or name a Python that has it there: PYSPARK_PYTHON",
    )
