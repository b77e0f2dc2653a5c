"""What Spark writes in the text of its errors: it hands on nothing else from workers and Java."""

from __future__ import annotations

import re
from typing import Any

from millstream.spark.compat.moved import moved

NO_PATH = re.compile(r"\[PATH_NOT_FOUND\] Path does not exist: (?P<path>[^\n]*)\. SQLSTATE")
"""A path that is read and does not exist."""

WRONG_TYPE = re.compile(
    r"while reading file (?P<file>[^\n]*)\. Data type mismatches when reading Parquet column "
    r"\[(?P<column>[^\n]*)\]\. Expected Spark type (?P<wanted>[^\n]*), actual Parquet type "
    r"(?P<found>[^\n]*)\. SQLSTATE"
)
"""A column of a parquet file that has another type than the program says."""

CONDITION = r"\[(?P<condition>[A-Z][A-Z0-9_]{3,}(?:\.[A-Z0-9_]+)?)\] "
FAILED = re.compile(
    CONDITION + r"(?P<why>(?:(?!SQLSTATE: |\[[A-Z0-9_.]{4,}\] ).)*)SQLSTATE: (?P<state>\w{5})"
    r"(?:\s*\n== SQL \(line (?P<line>\d+), position (?P<position>\d+)\) ==\n"
    r"[^\n]*\n *(?P<part>\^+))?"
    r"(?:\s*\n== DataFrame ==\n[^\n]* was called from\n(?P<site>[^\n]*))?",
    re.DOTALL,
)
"""Any error with a condition, and where in SQL or in a program it is."""

ADVICE = re.compile(
    r"\.? (?:Use |If necessary |Correct the value|To return NULL|Please,? ).*", re.DOTALL
)
"""What Spark advises to do, after what has happened."""

REFUSED_AT = re.compile(r"; line (?P<line>\d+) pos")
"""Where in SQL something is that Spark refuses before it runs."""

CAUSED_BY = re.compile(r"^(?:Caused by)?: (\S.*)", re.MULTILINE)
"""A cause, as Java and Py4J write it."""

STREAM_ENDED = " terminated with exception: "
BEGUN_TWICE = "CONCURRENT_STREAM_LOG_UPDATE"

LOSSES = {
    "Python worker exited unexpectedly": "a Python worker has died",
    "Python worker failed to connect back": "a Python worker did not start within 10 s",
    "ExecutorLostFailure": "an executor was lost",
    "java.net.SocketException": "the connection to a Python worker was lost",
    "java.io.EOFException": "the connection to a Python worker was lost",
    "java.nio.channels.ClosedChannelException": "the connection to a Python worker was lost",
}
"""What Spark writes about the loss of a process, and what that means."""


def without_condition(text: str) -> str:
    """The text of an error without the condition that it begins with."""
    return re.sub(rf"^{CONDITION}", "", text)


_SAMPLES: tuple[tuple[re.Pattern[str], str, dict[str, str]], ...] = (
    (NO_PATH, "PATH_NOT_FOUND", {"path": "/in"}),
    (
        WRONG_TYPE,
        "FAILED_READ_FILE.PARQUET_COLUMN_DATA_TYPE_MISMATCH",
        {"path": "/in", "column": "[n]", "expectedType": "int", "actualType": "DOUBLE"},
    ),
    (FAILED, "DIVIDE_BY_ZERO", {"config": "x"}),
    (re.compile(STREAM_ENDED), "STREAM_FAILED", {"id": "i", "runId": "r", "message": "m"}),
    (re.compile(BEGUN_TWICE), BEGUN_TWICE, {"batchId": "0"}),
)


def check(jvm: Any) -> None:
    """Checks those texts that Spark has a template of; others are only in its code."""
    from millstream.spark.compat.jvm import error_message  # with PySpark, which takes a second

    for pattern, condition, parameters in _SAMPLES:
        if not pattern.search(error_message(jvm, condition, **parameters)):
            raise moved(f"the text of the error {condition}")
