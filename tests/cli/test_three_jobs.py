"""Three jobs with state run at once: one fails, one is killed, and each score counts once."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

from millstream.cli.main import app
from millstream.jobs.registry.registry import opened_registry
from millstream.system.data_directory import DATA
from waiting import until

APPLICATION = """
from pathlib import Path

import millstream as ms

def totals(folder: str, out: str) -> ms.Pipeline:
    def check(row):
        trap = Path(folder, "trap", out)
        if row["points"] == 13 and trap.exists():
            trap.unlink()
            raise ValueError("thirteen")
        return row

    columns = "team string, points int"
    scores = ms.read_files(f"{folder}/input", format="json", schema=columns, name="scores")
    checked = scores.map(check, schema=columns).named("checked")
    added = checked.key_by("team").update_state(
        lambda row, total: total + row["points"], initial=0
    )
    return added.named("totals").write_files(f"{folder}/{out}", format="json", name="totals")
"""
JOBS = ("steady", "failing", "killed")
TEAMS = ("red", "blue", "green")


class Scores:
    """Files of scores, and what must come of them."""

    def __init__(self, folder):
        self._folder = folder
        self._given = []
        (folder / "input").mkdir()

    def add(self, *points):
        """A file with these points for each team."""
        name, rows = f"{len(self._given)}", [(team, each) for each in points for team in TEAMS]
        lines = [json.dumps({"team": team, "points": each}) + "\n" for team, each in rows]
        (self._folder / name).write_text("".join(lines))
        (self._folder / name).rename(self._folder / "input" / f"{name}.json")
        self._given += points

    def expected(self):
        """For each team, its total after each of the scores."""
        sums = [sum(self._given[: n + 1]) for n in range(len(self._given))]
        return sorted((team, each) for team in TEAMS for each in sums)

    def written(self, job):
        files = (self._folder / job).glob("part-*")
        rows = [json.loads(line) for f in files for line in f.read_text().splitlines()]
        return sorted((row["team"], row["state"]) for row in rows)

    def are_in(self, *jobs):
        until(lambda: all(len(self.written(job)) >= len(self.expected()) for job in jobs))
        assert {job: self.written(job) for job in jobs} == dict.fromkeys(jobs, self.expected())


def millstream(*arguments):
    """A command that only reads and writes the registry and checkpoints."""
    result = CliRunner().invoke(app, arguments)
    assert result.exit_code == 0, (result.output, result.exception)
    return result.output


def in_a_process(*arguments):
    command = [sys.executable, "-m", "millstream", *arguments]
    ran = subprocess.run(command, capture_output=True, text=True)
    assert ran.returncode == 0, ran.stdout + ran.stderr
    return ran.stdout


def job_of(name):
    with opened_registry() as registry:
        return registry.job(name)


@pytest.fixture
def scores(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    (tmp_path / "totals.py").write_text(APPLICATION)
    (tmp_path / "trap").mkdir()
    yield Scores(tmp_path)
    with opened_registry() as registry:
        alive = [job.name for job in registry.jobs() if job.is_alive]
    for name in alive:
        millstream("jobs", "stop", name)


def test_of_three_jobs_one_fails_one_is_killed_and_nothing_is_lost(scores, tmp_path):
    scores.add(1, 2)
    for name in JOBS:
        settings = ("--set", f"folder={tmp_path}", "--set", f"out={name}")
        start = ("run", f"{tmp_path}/totals.py", "--name", name, "--master", "local[2]", *settings)
        in_a_process(*start, "--detach")
    scores.are_in(*JOBS)

    (tmp_path / "trap" / "failing").touch()
    killed = job_of("killed")
    killed.supervisor.process.send(signal.SIGKILL)  # as if the machine had died
    os.kill(killed.run.place.process.pid, signal.SIGKILL)
    until(lambda: job_of("killed").state == "lost")
    scores.add(13, 4)
    millstream("jobs", "resume", "killed")
    scores.are_in(*JOBS)
    until(lambda: [job_of(name).state for name in JOBS] == ["running"] * 3)
    with opened_registry() as registry:
        runs = {name: registry.runs(registry.job(name).id) for name in JOBS}
    states = {name: [run.state for run in each] for name, each in runs.items()}
    assert states == {
        "steady": ["running"],
        "failing": ["running", "failed"],
        "killed": ["running", "lost"],
    }
    assert "thirteen" in runs["failing"][1].reason

    for name in ("steady", "killed"):
        millstream("jobs", "stop", name)
    assert "started failing" in in_a_process("jobs", "rescale", "failing", "3")
    scores.add(5)
    scores.are_in("failing")
    millstream("jobs", "stop", "failing")
    # In a process of its own, which has run no query, and from snapshots: those of the rescaling.
    (red,) = json.loads(in_a_process("state", "show", "failing", "--key", "red", "--json"))
    assert red["step"] == "totals"
    assert [*red["rows"][0].values()].count(1 + 2 + 13 + 4 + 5) == 1
    assert (
        len(json.loads(Path(job_of("failing").checkpoint, "plan.json").read_text())["labels"]) == 3
    )
