"""What is left of what a Java that is started says on standard error."""

from __future__ import annotations

import subprocess
import sys

import pytest

PROGRAM = """
import subprocess, sys, threading
from millstream.spark.noise import less_noise

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
    told = said(
        "WARNING: Using incubator modules: jdk.incubator.vector",
        "an error",
        "",
        "Starting Streaming TransformWithStateInPandas Python worker.",
        "",
        "another error",
    )
    assert told == ["an error", "", "another error", "python says something"]
