"""What went wrong in a worker, said by the driver: Spark hands on only text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from millstream.model.errors import CODES, KafkaError, MillstreamError, PlanError, RunError
from millstream.spark.gateway import jvm_ended, lost_jvm
from millstream.spark.kafka_failures import client_error, lost_records
from millstream.spark.loading import wrong_type

_TOLD = re.compile(
    r"millstream\.model\.errors\.\w+: (?P<code>MS\d{3})(?: in step '(?P<step>[^\n]*?)')?: "
    r"(?P<what>.*?)\n  What to do: (?P<fix>.*?)\n  More: ",
    re.DOTALL,
)

_NO_PATH = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (?P<path>[^\n]*)\. SQLSTATE")
_WRONG_TYPE = re.compile(
    r"while reading file (?P<file>[^\n]*)\. Data type mismatches when reading Parquet column "
    r"\[(?P<column>[^\n]*)\]\. Expected Spark type (?P<wanted>[^\n]*), actual Parquet type "
    r"(?P<found>[^\n]*)\. SQLSTATE"
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
        if lost_jvm(error):
            raise jvm_ended() from None
        found = _TOLD.search(str(error))
        if lost := lost_records(str(error)):
            raise lost from error
        if wrong := _WRONG_TYPE.search(str(error)):
            raise _of_another_type(wrong) from error
        if no_path := _NO_PATH.search(str(error)):
            raise _no_files(no_path["path"]) from error
        if _NOT_THERE in str(error):
            raise _not_there() from error
        if found is None or found["code"] not in CODES:
            if of_kafka := client_error(str(error)):
                raise of_kafka from error
            raise
        kind = {"1": PlanError, "2": RunError, "3": KafkaError}[found["code"][2]]
        raise kind(found["code"], found["what"], fix=found["fix"], step=found["step"]) from error


def _of_another_type(wrong: re.Match[str]) -> RunError:
    """Spark's error for a parquet file; it has parquet's own name for the type of the column."""
    file = wrong["file"].removeprefix("file://")
    found = f"parquet's {wrong['found']}"
    return wrong_type(None, file, wrong["column"], found, wrong["wanted"].upper())


def _no_files(path: str) -> RunError:
    """Spark's error for a path that this program has not looked at."""
    return RunError(
        "MS215",
        f"there is no file or folder {path!r}",
        fix="see that the path is right, and make the folder before the job starts",
    )


def _not_there() -> RunError:
    """The error of workers of a cluster, or of a process of a server of Spark Connect."""
    return RunError(
        "MS206",
        "the Python that Spark runs functions with does not have Millstream",
        fix=f"install millstream {version('millstream')} where Spark's workers are, and its server "
        "if there is one, or name a Python that has it there: PYSPARK_PYTHON",
    )
