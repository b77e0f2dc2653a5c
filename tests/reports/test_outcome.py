"""A job that fails is never silent, and never reported twice to a program that has seen it."""

from __future__ import annotations

import logging
import subprocess
import sys
from pathlib import Path

import pytest

import millstream as ms
from millstream.jobs import at_exit
from millstream.model.errors import RunError
from millstream.reports.outcome import Outcome, error_text
from waiting import until

ERROR = RunError("MS201", "fragile failed", fix="fix it", step="checked")

PROGRAM = """
import sys
from millstream.jobs.at_exit import end_with_the_program
from millstream.model.errors import RunError
from millstream.reports.outcome import Outcome
from pathlib import Path
import tempfile

folder = tempfile.TemporaryDirectory()  # which Python removes at its end
print(folder.name)

class Job:
    name = "totals"
    over = True
    outcome = Outcome("totals")
    def leave(self): return False

job = Job()
end_with_the_program(job)
job.outcome.fail(RunError("MS201", "fragile failed", fix="fix it", step="checked"))
if "see" in sys.argv:
    try:
        job.outcome.check()
    except RunError:
        pass
if "raise" in sys.argv:
    sys.exit(3)
"""


def ended(*arguments: str) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", PROGRAM, *arguments]
    return subprocess.run(command, capture_output=True, text=True, timeout=60)


def test_a_program_whose_job_has_failed_unseen_ends_with_1_and_says_why():
    program = ended()
    assert program.returncode == 1
    assert program.stderr.splitlines() == [
        "job 'totals' failed: MS201 in step 'checked': fragile failed",
        "  What to do: fix it",
        "  More: millstream help MS201",
        "millstream: job 'totals' has failed (see the log): "
        "MS201 in step 'checked': fragile failed",
        "millstream: the exit code is 1; to handle a failure, call job.wait() and catch what it "
        "raises",
    ]
    assert not Path(program.stdout.strip()).exists()  # all else that happens at the end, happens


def test_a_program_that_has_seen_the_failure_ends_as_it_likes():
    program = ended("see")
    assert program.returncode == 0
    assert "exit code" not in program.stderr
    assert ended("see", "raise").returncode == 3


def test_a_failure_that_nobody_waits_for_is_logged(caplog):
    Outcome("totals").fail(ERROR)
    (record,) = caplog.records
    assert (record.name, record.levelno) == ("millstream.job", logging.ERROR)
    assert record.getMessage() == f"job 'totals' failed: {ERROR}"
    assert record.millstream["error"] == str(ERROR)


def test_a_failure_that_is_raised_to_whoever_waits_is_not_logged(caplog):
    outcome = Outcome("totals")
    with outcome.awaited():
        outcome.fail(ERROR)
    assert outcome.unseen
    with pytest.raises(RunError, match="MS201"):
        outcome.check()
    assert not outcome.unseen
    assert not caplog.records


def test_an_error_of_many_lines_is_cut():
    text = error_text(ValueError("\n".join(map(str, range(100)))))
    assert text.splitlines()[:2] == ["ValueError: 0", "1"]
    assert len(text.splitlines()) == 31


def test_a_job_that_fails_in_the_background_shows_it_everywhere(spark, tmp_path, caplog):
    def fragile(row):
        return {"n": 1 // (row["value"] - 2)}

    numbers = ms.read_rate(rows_per_second=100).map(fragile, "n bigint").named("checked")
    job = numbers.collect("numbers").run("fragile", spark=spark)
    until(lambda: job.progress().over)
    (record,) = [each for each in caplog.records if each.name == "millstream.job"]
    assert record.getMessage().startswith("job 'fragile' failed: MS201 in step 'checked': fragile")
    progress = job.progress()
    assert progress.state == "failed"
    assert progress.to_dict()["error"] == progress.error
    assert progress.error.startswith("MS201 in step 'checked': fragile failed on the record")
    assert str(progress).startswith("failed (MS201 in step 'checked': fragile failed")
    assert repr(job).startswith("<Job 'fragile': failed (MS201 in step 'checked': fragile failed")
    with pytest.raises(RunError, match="MS201"):
        job.rows()
    job.rows()  # of the batches before
    with pytest.raises(RunError, match="MS201"):
        job.wait()
    assert job.progress().state == "failed"


def test_a_name_is_free_when_its_job_has_ended_and_released_its_checkpoint(monkeypatch):
    class Ending:
        name, over, released = "totals", True, False

        def join(self) -> None:
            self.released = True

    job = Ending()
    monkeypatch.setattr(at_exit, "_jobs", [job])
    assert not at_exit.is_running("totals")
    assert job.released
    job.over = False
    assert at_exit.is_running("totals")
    assert not at_exit.is_running("others")
