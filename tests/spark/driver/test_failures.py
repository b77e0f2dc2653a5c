"""Errors of Spark that Millstream does not know: a code, the innermost cause, and no stack."""

from __future__ import annotations

import os
import signal
import sys

import pytest
from pyspark import cloudpickle
from pyspark.errors import PySparkException

import millstream as ms
from millstream.spark.driver.failures import explained, recognised

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import a test

JAVA = """An error occurred while calling o42.load.
: java.io.IOException: cannot list
\tat org.apache.hadoop.fs.GlobFilter.init(GlobFilter.java:71)
Caused by: java.net.UnknownHostException: data.example
\tat java.base/java.lang.Thread.run(Thread.java:840)
\t... 12 more
"""
STREAM = (
    "[STREAM_FAILED] Query [id = 7, runId = 8] terminated with exception: the disk is gone "
    "SQLSTATE: XXKST\n=== Streaming Query ===\nIdentifier: totals"
)
FILE = (
    "[FAILED_READ_FILE.NO_HINT] Encountered error while reading file a.orc. SQLSTATE: KD001\n"
    "\tat org.apache.spark\nCaused by: org.apache.orc.FileFormatException: Malformed ORC file\n"
)


@pytest.mark.parametrize(
    ("text", "what"),
    [
        (JAVA, "java.net.UnknownHostException: data.example"),
        (STREAM, "the disk is gone"),
        (
            FILE,
            "FAILED_READ_FILE.NO_HINT: Encountered error while reading file a.orc.\n"
            "    Caused by: org.apache.orc.FileFormatException: Malformed ORC file",
        ),
        ("\n".join("abcdefghijk"), "\n    ".join("abcdefgh…")),
        ("", "it says nothing"),
    ],
)
def test_an_unknown_error_of_spark_is_its_innermost_cause(text: str, what: str) -> None:
    raised = PySparkException(text)
    with pytest.raises(ms.RunError) as caught, explained():
        raise raised
    assert str(caught.value) == (
        f"MS220: Spark failed: {what}\n"
        "  What to do: what Spark raised is in error.__context__, and shown with "
        "MILLSTREAM_TRACEBACK=full\n"
        "  More: millstream help MS220"
    )
    assert caught.value.__context__ is raised
    assert caught.value.__cause__ is None


def test_spark_is_shown_where_full_tracebacks_are_asked_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MILLSTREAM_TRACEBACK", "full")
    raised = PySparkException(JAVA)
    with pytest.raises(ms.RunError, match="MS220") as caught, explained():
        raise raised
    assert caught.value.__cause__ is raised


@pytest.mark.parametrize("error", [ms.RunError("MS201", "it failed", fix="fix it"), KeyError("a")])
def test_errors_that_are_not_of_spark_stay_as_they_are(error: Exception) -> None:
    with pytest.raises(type(error)) as caught, explained():
        raise error
    assert caught.value is error


def test_an_error_that_a_restart_may_cure_is_left_for_the_restart() -> None:
    raised = PySparkException("Python worker exited unexpectedly (crashed)")
    with pytest.raises(PySparkException) as caught, recognised():
        raise raised
    assert caught.value is raised


def test_a_batch_and_a_stream_report_an_error_of_spark_alike(spark, tmp_path):
    (tmp_path / "a.orc").write_bytes(b"this is no orc")
    frame = spark.read.schema("n int").orc(str(tmp_path))
    program = ms.from_dataframe(frame).collect()
    messages = []
    for mode in ("batch", "streaming"):
        with pytest.raises(ms.RunError, match="MS220: Spark failed: FAILED_READ_FILE") as caught:
            program.run(f"orc-{mode}", spark=spark, mode=mode)
        messages.append(caught.value.what)
        assert "Caused by: org.apache.orc.FileFormatException" in caught.value.what
        assert "\tat " not in caught.value.what
    assert messages[0] == messages[1]


def test_a_worker_that_dies_in_a_batch_is_named_with_its_step(spark):
    def die(row):
        os.kill(os.getpid(), signal.SIGKILL)

    program = ms.from_rows([(1,)], "n int").map(die, "n int").named("deadly").collect()
    with pytest.raises(ms.RunError, match="MS223 in step 'deadly': a Python worker has died; func"):
        program.run("dies", spark=spark, mode="batch")
