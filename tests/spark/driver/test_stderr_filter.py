"""What is left of what a Java that is started says on standard error."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import subprocess, sys, threading
from millstream.spark.driver.stderr_filter import less_noise

with less_noise():
    subprocess.run(["sh", "-c", sys.argv[1]])
for thread in threading.enumerate():
    if thread.daemon:
        thread.join()  # until all that was said has come through
print("python says something", file=sys.stderr)
"""


@pytest.fixture(scope="session", autouse=True)
def spark():
    """In place of the session of this folder, which nothing here needs."""


def said(*lines: str) -> list[str]:
    """What comes through on standard error."""
    script = "; ".join(f"echo '{line}' >&2" for line in lines)
    ran = subprocess.run(
        [sys.executable, "-c", PROGRAM, script],
        capture_output=True, text=True, check=True, timeout=60,
    )  # fmt: skip
    return ran.stderr.splitlines()


def test_errors_come_through_and_noise_does_not():
    printed = said(
        "WARNING: Using incubator modules: jdk.incubator.vector",
        "an error",
        "",
        "Starting Streaming TransformWithStateInPandas Python worker.",
        "",
        "another error",
    )
    assert printed == ["an error", "", "another error", "python says something"]


def test_of_a_state_server_that_ends_only_the_reason_comes_through():
    ended = 'Exception in thread "stateConnectionListenerThread" FSError: No space left on device'
    printed = said(
        ended,
        r"\tat org.apache.spark.sql.execution.python",
        "Caused by: java.io.IOException: No space left on device",
        r"\t... 31 more",
        "an error",
        r"\tat its.own.stack",
    )
    assert printed == [ended, "an error", "\tat its.own.stack", "python says something"]
