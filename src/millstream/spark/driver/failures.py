"""What went wrong in a worker, said by the driver: Spark hands on only text."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import contextmanager
from importlib.metadata import version

from millstream.model.errors import CODES, KafkaError, MillstreamError, PlanError, RunError
from millstream.physical.plan import Physical
from millstream.plan.sql.failures import SqlError, sql_failure, sql_failure_somewhere
from millstream.reports.tracebacks import full_tracebacks, instead_of, worker_traceback
from millstream.spark.compat import messages
from millstream.spark.driver.gateway import jvm_ended, lost_jvm
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.sources.loading import wrong_type

_OURS = re.compile(
    r"millstream\.model\.errors\.\w+: (?P<code>MS\d{3})(?: in step '(?P<step>[^\n]*?)')?: "
    r"(?P<what>.*?)\n  What to do: (?P<fix>.*?)\n  More: ",
    re.DOTALL,
)

_RAISED = re.compile(
    r"Traceback \(most recent call last\):\n(?P<frames>(?:[ \t^~].*\n)+)(?P<error>\w.*)"
)
"""What Python raised, in a worker or in the function that Spark calls for each batch."""

_NOT_THERE = "ModuleNotFoundError: No module named 'millstream'"


_MOST_LINES = 8
_OF_DATA = ("USER_RAISED_EXCEPTION", "INVALID_FORMAT")  # of which the state does not say it
_ADVICE_OF_SPARK = (
    "what Spark raised is in error.__context__, and shown with MILLSTREAM_TRACEBACK=full"
)


@contextmanager
def explained(plan: Physical | None = None) -> Iterator[None]:
    """Every error of Spark becomes ours: those that are not ``recognised`` get MS220."""
    try:
        with recognised(plan):
            yield
    except Exception as error:  # any class of PySpark and Py4J; others are raised as they are
        made = spark_failure(error)
        if made is error:
            raise
        raise made from error if full_tracebacks() else None


@contextmanager
def recognised(plan: Physical | None = None) -> Iterator[None]:
    """Errors of Spark whose cause is known become ours, and others stay as they are.

    The expressions of the ``plan`` are those that may have failed. What Spark raised is the context
    of the error, but not shown: it is a hundred lines.
    """
    try:
        yield
    except MillstreamError:
        raise
    except Exception as error:  # what Spark raises is known by its text, not by its class
        made = _explanation(error, plan)
        if made is None:
            raise
        raise made from error if full_tracebacks() else worker_traceback(_own_part(str(error)))


def _own_part(text: str) -> str:
    """The text up to an error of ours in it."""
    found = _OURS.search(text)
    return text[: found.start()] if found else ""


def _explanation(error: Exception, plan: Physical | None) -> MillstreamError | None:
    if lost_jvm(error):
        return jvm_ended()
    text = str(error)
    if wrong := messages.WRONG_TYPE.search(text):
        return _of_another_type(wrong)
    if no_path := messages.NO_PATH.search(text):
        return _no_files(no_path["path"])
    if _NOT_THERE in text:
        return _not_there()
    found = _OURS.search(text)
    if found is not None and found["code"] in CODES:
        kind = {"1": PlanError, "2": RunError, "3": KafkaError}[found["code"][2]]
        return kind(found["code"], found["what"], fix=found["fix"], step=found["step"])
    return _of_sql(text, plan) if _is_of_spark(error) else None


def _of_sql(text: str, plan: Physical | None) -> RunError | None:
    """The error of an expression that failed on a row, if it is one."""
    listing = Listing(instance.node for instance in plan.instances) if plan else Listing(())
    candidates = [sql for sql in listing.all if not sql.expression.text.isidentifier()]
    for failed in messages.FAILED.finditer(text):
        why = messages.ADVICE.sub("", failed["why"]).strip().rstrip(".")
        sql = listing.at(int(failed["line"])) if failed["line"] else None
        if sql is not None:
            start = int(failed["position"]) - 1
            part = sql.expression.text[start : start + len(failed["part"])]
            one_line = "\n" not in sql.expression.text
            return sql_failure(sql, SqlError(failed["condition"], why, part if one_line else None))
        of_data = failed["state"].startswith("22") or failed["condition"].startswith(_OF_DATA)
        if not of_data or failed["condition"].startswith("MALFORMED_RECORD") or not candidates:
            continue
        made = [sql for sql in candidates if sql.expression.column is not None]
        if failed["site"] or failed["line"]:
            candidates = made or candidates
            why += f" (the Column of {failed['site'].strip()})" if failed["site"] else ""
        error = SqlError(failed["condition"], why)
        if len(candidates) == 1:
            return sql_failure(candidates[0], error)
        return sql_failure_somewhere(candidates, error)
    return None


def spark_failure(error: BaseException) -> BaseException:
    """An error of Spark whose cause is not known, with a code; any other error as it is."""
    if not _is_of_spark(error):
        return error
    lines = _innermost(str(error))
    what = "\n    ".join([*lines[:_MOST_LINES], *(["…"] if len(lines) > _MOST_LINES else [])])
    return instead_of(error, RunError("MS220", f"Spark failed: {what}", fix=_ADVICE_OF_SPARK))


def _innermost(text: str) -> list[str]:
    r"""The innermost cause in the text of an error, without the lines of Java's stack.

    >>> _innermost("An error occurred while calling o2.load.\n: java.io.IOException: no disk\n")
    ['java.io.IOException: no disk']
    >>> _innermost('Traceback (most recent call last):\n  File "a.py", line 1, in f\nKeyError: 1')
    ['KeyError: 1', 'File "a.py", line 1, in f']
    """
    if raised := list(_RAISED.finditer(text)):
        frames = raised[-1]["frames"].splitlines()
        places = [line.strip() for line in frames if line.lstrip().startswith("File ")]
        return [raised[-1]["error"], *places[-1:]]
    conditions = list(messages.FAILED.finditer(text))
    caused: list[str] = messages.CAUSED_BY.findall(text, conditions[-1].end() if conditions else 0)
    if conditions:
        last = conditions[-1]
        why = last["why"].partition(messages.STREAM_ENDED)[2]
        why = why or f"{last['condition']}: {last['why']}"
        return [*why.strip().splitlines(), *(f"Caused by: {each}" for each in caused[-1:])]
    lines = [line for line in text.splitlines() if line.strip() and not line.startswith("\t")]
    return caused[-1:] or lines or ["it says nothing"]


def _is_of_spark(error: BaseException) -> bool:
    return type(error).__module__.startswith(("pyspark.", "py4j."))


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
