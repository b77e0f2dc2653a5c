"""What went wrong in a worker, said by the driver: Spark hands on only text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from millstream.model.errors import CODES, KafkaError, MillstreamError, PlanError, RunError

_TOLD = re.compile(
    r"millstream\.model\.errors\.\w+: (?P<code>MS\d{3})(?: in step '(?P<step>[^\n]*?)')?: "
    r"(?P<what>.*?)\n  What to do: (?P<fix>.*?)\n  More: ",
    re.DOTALL,
)


_LOST = re.compile(r"failOnDataLoss to false\.\s+Reason: (?P<what>[^\n]*)")
_NOT_THERE = "ModuleNotFoundError: No module named 'millstream'"
_KEPT_OUT = re.compile(
    r"org\.apache\.kafka\.common\.errors\.(?:Ssl|Sasl)AuthenticationException: "
    r"(?P<why>[^\n]*?)(?: SQLSTATE: \w+)?(?:\n|$)"
)


@contextmanager
def explained() -> Iterator[None]:
    """Errors of Spark that carry one of ours become that one."""
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:
        found = _TOLD.search(str(error))
        if lost := _LOST.search(str(error)):
            raise _lost(lost["what"]) from error
        if _NOT_THERE in str(error):
            raise _not_there() from error
        if found is None or found["code"] not in CODES:
            if kept_out := _KEPT_OUT.search(str(error)):
                raise _unreachable(kept_out["why"]) from error
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


def _unreachable(why: str) -> KafkaError:
    """The error of Java's client, which reads the records. Ours has got in before the job began."""
    return KafkaError(
        "MS320",
        f"Kafka does not let Spark's client in: {why.rstrip('.')}",
        fix="if it did before, see what has changed, a password or a certificate; else give "
        "read_kafka(…, options=…) settings that Java's client knows, too",
    )


def _lost(what: str) -> KafkaError:
    """Spark's error for records that it was to read, and that Kafka no longer has."""
    return KafkaError(
        "MS350",
        f"records were gone before they were read, by retention or with their topic: {what}",
        fix="keep records for longer than the job may be away, retention.ms; to go on without "
        "them, counted, write read_kafka(…, on_data_loss='continue')",
    )
