"""What is shown while a job starts."""

from __future__ import annotations

import logging
import os
import pty
import subprocess
import sys
from types import SimpleNamespace

import pytest

import millstream.jobs.starting
from millstream.jobs.starting import RUNNING, starting

PROGRAM = """
import sys
from millstream.jobs.starting import starting

with starting("totals") as announce:
    announce("starting Java and Spark")
    input()
print("rows", flush=True)
"""


def test_a_terminal_shows_what_is_started_and_then_nothing_of_it():
    terminal, stderr = pty.openpty()
    program = subprocess.Popen(
        [sys.executable, "-c", PROGRAM],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=stderr,
        env={**os.environ, "TERM": "xterm-256color", "PYTHONIOENCODING": "utf-8"},
    )
    os.close(stderr)
    shown = b""
    while b"starting Java and Spark" not in shown:
        shown += os.read(terminal, 4096)
    printed, _ = program.communicate(b"\n", timeout=60)
    while chunk := _read(terminal):
        shown += chunk
    os.close(terminal)
    assert printed == b"rows\n"  # standard output is left to the program
    assert b"totals" in shown
    assert b"\x1b[2K" in shown.rpartition(b"Spark")[2]  # the line is erased


def _read(terminal: int) -> bytes:
    try:
        return os.read(terminal, 4096)
    except OSError:  # on Linux: the other end is closed
        return b""


@pytest.fixture
def late(monkeypatch):
    """Has the time passed after which a line is due, when it is called."""
    due = []

    class Timer:
        def __init__(self, seconds, call):
            due.append(call)

        def start(self):
            pass

        def cancel(self):
            due.clear()

    monkeypatch.setattr(millstream.jobs.starting, "threading", SimpleNamespace(Timer=Timer))
    return lambda: [call() for call in due]


def test_elsewhere_a_line_reports_what_takes_long(late, caplog):
    caplog.set_level(logging.INFO)
    with starting("totals") as announce:
        announce("starting Java and Spark")
        late()
    assert caplog.messages == ["job 'totals': starting Java and Spark"]


def test_without_configured_logging_the_line_is_on_standard_error(late, monkeypatch, capsys):
    monkeypatch.setattr(logging.getLogger("millstream"), "propagate", False)
    with starting("totals") as announce:
        announce("starting Java and Spark")
        late()
    assert capsys.readouterr().err.endswith(" job 'totals': starting Java and Spark\n")


def test_a_start_that_is_quick_is_silent(late, caplog, capsys):
    caplog.set_level(logging.INFO)
    with starting("totals") as announce:
        announce("starting the query")
        announce(RUNNING)
        late()
    assert not caplog.records
    assert capsys.readouterr() == ("", "")
