"""How ``millstream run`` ends: by the end of the job, an error, or a signal."""

from __future__ import annotations

import os
import signal
import time

import pytest
from typer.testing import CliRunner

from millstream.cli.application import Application
from millstream.cli.main import app
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

    def run(end):
        monkeypatch.setattr(Application, "pipeline", lambda *_: Ending(end))
        monkeypatch.setattr("sys.argv", ["millstream"])
        code = CliRunner().invoke(app, ["run", "totals.py"]).exit_code
        with opened_registry() as registry:
            return code, registry.job("totals").run

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


def test_an_error_is_recorded_with_its_code(run):
    def end():
        raise ValueError("no such team")

    code, entry = run(end)
    assert code == 1
    assert (entry.state, entry.reason) == ("failed", "ValueError: no such team")
