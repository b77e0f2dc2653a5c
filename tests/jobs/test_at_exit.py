"""What the end of a program does to its jobs."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

from millstream.jobs import at_exit

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


def test_a_program_whose_job_has_failed_unseen_ends_with_1_and_the_reason():
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
