"""Processes that stay, and how they are known again."""

from __future__ import annotations

import os
import signal
from dataclasses import replace

import pytest

from millstream.system.processes import Process, _started, _started_by_ps, spawn
from waiting import until


@pytest.fixture
def sleeper(tmp_path):
    process = spawn(
        ["sleep", "600"], cwd=tmp_path, output=tmp_path / "output", environment=os.environ
    )
    yield process
    process.send(signal.SIGKILL)


def test_a_spawned_process_is_in_a_session_of_its_own_and_no_child_of_ours(sleeper):
    assert os.getsid(sleeper.pid) != os.getsid(0)
    with pytest.raises(ChildProcessError):
        os.waitpid(sleeper.pid, os.WNOHANG)


def test_a_process_runs_until_it_ends(sleeper):
    assert sleeper.runs
    sleeper.send(signal.SIGTERM)
    until(lambda: not sleeper.runs)


def test_another_process_with_the_same_pid_is_neither_taken_for_it_nor_stopped(sleeper):
    before = replace(sleeper, started="12 ticks after another boot")
    assert not before.runs
    before.send(signal.SIGKILL)
    assert sleeper.runs


def test_a_zombie_does_not_run():
    pid = os.posix_spawn("/bin/true", ["true"], {})
    try:
        until(lambda: not _started(pid))
    finally:
        os.waitpid(pid, 0)


def test_what_it_prints_goes_to_a_file(tmp_path):
    output = tmp_path / "the output"
    spawn(["echo", "a  b"], cwd=tmp_path, output=output, environment=os.environ)
    until(lambda: output.exists() and output.read_text() == "a  b\n")


def test_without_proc_ps_reports_the_same(sleeper):
    assert _started_by_ps(sleeper.pid)
    assert _started_by_ps(sleeper.pid) == _started_by_ps(sleeper.pid)
    sleeper.send(signal.SIGKILL)
    until(lambda: not _started_by_ps(sleeper.pid))


def test_a_pid_without_a_process_does_not_run():
    assert not Process(2**22 + 1, "ever").runs


def test_a_process_that_ends_at_once_does_not_run(tmp_path):
    process = spawn(
        ["/no/such/program"], cwd=tmp_path, output=tmp_path / "output", environment=os.environ
    )
    until(lambda: not process.runs)
    assert not replace(process, started="").runs  # as it is if it was gone before we looked
