"""How ``millstream run`` ends: by the end of the job, an error, or a signal."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream.cli.application import Application
from millstream.cli.main import app
from millstream.jobs.logs import log_file
from millstream.jobs.registry import registry
from millstream.jobs.registry.database import connect
from millstream.jobs.registry.registry import opened_registry
from millstream.system.data_directory import DATA


class Ending:
    """A pipeline without steps, whose run ends as it is given."""

    sinks = ()

    def __init__(self, end):
        self.run = lambda *_, **__: end() or self

    def wait(self):
        return self


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Runs a pipeline that ends in some way: its exit code, and the state of its job."""
    monkeypatch.setenv(DATA, str(tmp_path))

    program = tmp_path / "totals.py"
    program.touch()

    def run(end):
        monkeypatch.setattr(Application, "pipeline", lambda *_: Ending(end))
        monkeypatch.setattr("sys.argv", ["millstream"])
        code = CliRunner().invoke(app, ["run", str(program)]).exit_code
        with opened_registry() as opened:
            return code, opened.job("totals").run

    return run


def test_a_job_that_ends_well_ends_the_command_with_0(run):
    assert run(lambda: None) == (0, None)


@pytest.mark.parametrize("kind", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_while_the_job_starts_is_no_failure(run, kind):
    def end():
        os.kill(os.getpid(), kind)
        time.sleep(60)

    code, entry = run(end)
    assert code == 130
    assert entry is None  # a job records itself that it was stopped
    assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL


def test_a_file_that_is_not_there_is_an_error_and_no_job(run, tmp_path):
    assert run(lambda: None)[0] == 0
    missing = CliRunner().invoke(app, ["run", f"{tmp_path}/total.py", "--detach"])
    assert missing.exit_code == 1
    assert "MS227: there is no file" in missing.output
    with opened_registry() as opened:
        assert [job.name for job in opened.jobs()] == ["totals"]


def test_a_job_without_its_brokers_is_an_error_also_in_the_background(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path))
    monkeypatch.setenv("MILLSTREAM_SERVERS", "127.0.0.1:1")
    demo = Path(__file__).parents[2] / "examples" / "demo" / "program.py"
    command = [sys.executable, "-m", "millstream", "run", str(demo), "--detach"]
    failed = subprocess.run(command, capture_output=True, text=True)
    assert failed.returncode == 1
    assert "MS320: no Kafka broker answers at 127.0.0.1:1" in failed.stderr
    with opened_registry() as opened:
        job = opened.job("program")
        assert (job.state, job.run.code) == ("failed", "MS320")
        assert "MS320" in log_file(opened.file, job.name, job.id).read_text()


def test_a_job_runs_while_another_process_has_the_registry_locked(run, monkeypatch):
    assert run(lambda: None)[0] == 0
    monkeypatch.setattr(registry, "connect", lambda file, _: connect(file, patience=0.1))
    with opened_registry() as held, held.transaction():
        code, _ = run(lambda: None)
        assert code == 0
        resumed = CliRunner().invoke(app, ["jobs", "resume", "totals"])
    assert resumed.exit_code == 1
    assert "MS225" in resumed.output
    assert "try again" in resumed.output


def test_a_master_that_spark_does_not_know_is_refused(tmp_path):
    refused = CliRunner().invoke(app, ["run", "totals.py", "--master", "nonsense"])
    assert refused.exit_code == 2
    assert "local[N]" in refused.output


def test_an_error_is_recorded_with_its_code(run):
    def end():
        raise ValueError("no such team")

    code, entry = run(end)
    assert code == 1
    assert (entry.state, entry.reason) == ("failed", "ValueError: no such team")
