"""Jobs in the background, from their start to their removal, with real processes."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import topics
from millstream.cli.main import app
from millstream.system.data_directory import DATA
from waiting import until

APPLICATION = """
import millstream as ms

def check(row):
    if row["points"] < 0:
        raise ValueError("no such score")
    return row

def copy(folder: str) -> ms.Pipeline:
    scores = ms.read_files(
        f"{folder}/input", format="json", schema="team string, points int", name="scores"
    )
    checked = scores.map(check, schema="team string, points int").named("checked")
    return checked.write_files(f"{folder}/output", format="json", name="output")
"""


@pytest.fixture
def millstream(tmp_path, monkeypatch):
    """Runs a command in a project of its own, and expects its exit code.

    Those that only read and write the registry run in this process, which is quicker.
    """
    (tmp_path / "scores.py").write_text(APPLICATION)
    (tmp_path / "input").mkdir()
    monkeypatch.setenv(DATA, str(tmp_path / "data"))

    def run(*arguments, code=0):
        if arguments[0] == "jobs" and arguments[1] != "logs":
            result = CliRunner().invoke(app, arguments)
            assert result.exit_code == code, result.output
            return result.output
        ran = subprocess.run(
            [sys.executable, "-m", "millstream", *arguments],
            cwd=tmp_path, capture_output=True, text=True,
        )  # fmt: skip
        assert ran.returncode == code, ran.stdout + ran.stderr
        return ran.stdout + ran.stderr

    yield run
    for job in json.loads(run("jobs", "list", "--json")):
        if job["state"] in ("starting", "running", "stopping"):
            run("jobs", "stop", job["name"])


@pytest.fixture
def shown(millstream):
    return lambda: json.loads(millstream("jobs", "show", "copying", "--json"))


def add(folder, name, *points):
    lines = [json.dumps({"team": "red", "points": each}) + "\n" for each in points]
    (folder / f"{name}.tmp").write_text("".join(lines))
    (folder / f"{name}.tmp").rename(folder / "input" / f"{name}.json")


def written(folder):
    files = (folder / "output").glob("part-*")
    return sorted(json.loads(line)["points"] for f in files for line in f.read_text().splitlines())


def test_a_detached_job_is_watched_stopped_resumed_upgraded_and_deleted(
    millstream, shown, tmp_path
):
    add(tmp_path, "a", 1, 2)
    start = ("run", "scores.py", "--set", f"folder={tmp_path}", "--name", "copying", "--detach")
    assert "started copying" in millstream(*start)
    until(lambda: written(tmp_path) == [1, 2])
    until(lambda: (shown()["run"]["progress"] or {}).get("rows") == 2)
    job = shown()
    assert job["state"] == "running"
    assert job["program"] == str(tmp_path / "scores.py")
    assert [step["id"] for step in job["plan"]["steps"]] == ["scores", "checked", "sink:output"]
    assert "runs already" in millstream(*start, code=1)
    listed = millstream("jobs", "list").splitlines()[1].split()
    assert listed[:3] == ["copying", "running", "2"]
    assert "sink:output" in millstream("jobs", "show", "copying")

    add(tmp_path, "b", 3)
    until(lambda: written(tmp_path) == [1, 2, 3])
    assert millstream("jobs", "stop", "copying") == "copying is stopped\n"
    add(tmp_path, "c", 4)
    assert "stopped: read 3 rows" in millstream("jobs", "logs", "copying")
    assert "does not run" in millstream("jobs", "stop", "copying", code=1)

    copied = millstream("jobs", "savepoint", "copying", str(tmp_path / "saved"))
    assert copied == f"copied to {tmp_path}/saved/copying\n"
    resumed = millstream("jobs", "resume", "copying", "--from", str(tmp_path / "saved"))
    assert "started copying" in resumed
    until(lambda: written(tmp_path) == [1, 2, 3, 4])

    (tmp_path / "other.py").write_text(APPLICATION.replace('name="scores"', 'name="points"'))
    assert "MS207" in millstream("jobs", "upgrade", "copying", f"{tmp_path}/other.py", code=1)
    assert shown()["state"] == "running"
    better = APPLICATION.replace("return row\n", 'return {**row, "points": row["points"] * 10}\n')
    (tmp_path / "better.py").write_text(better)
    millstream("jobs", "upgrade", "copying", f"{tmp_path}/better.py")
    add(tmp_path, "d", 5)
    until(lambda: written(tmp_path) == [1, 2, 3, 4, 50])
    assert shown()["program"] == str(tmp_path / "better.py")

    assert "cannot be deleted while it runs" in millstream("jobs", "delete", "copying", code=1)
    millstream("jobs", "stop", "copying")
    millstream("jobs", "delete", "copying", "--checkpoint", "--yes")
    assert "no job 'copying'" in millstream("jobs", "show", "copying", code=1)
    assert not (tmp_path / "data" / "jobs" / "checkpoints" / "copying").exists()


def test_the_demo_runs_in_the_background(millstream, broker, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_SERVERS", broker.servers)
    demo = Path(__file__).parents[2] / "examples" / "demo" / "program.py"
    start = ("run", str(demo), "--detach")
    assert "MS321" in millstream(*start, code=1)  # its topics are not there yet
    millstream("topics", "create", "scores", "totals")
    assert "started program" in millstream(*start)
    score = {"user": "ann", "team": "red", "points": 5, "at": "2026-11-18T10:00:00Z"}
    topics.put(broker.servers, "scores", [score])
    until(lambda: topics.read(broker.servers, "totals"))
    (total,) = (record.json for record in topics.read(broker.servers, "totals"))
    assert (total["team"], total["total"], total["players"]) == ("red", 5, 1)
    until(
        lambda: (
            millstream("jobs", "list").splitlines()[1].split()[:3] == ["program", "running", "1"]
        )
    )
    assert 'job_name="program"' in millstream("jobs", "metrics")
    assert millstream("jobs", "stop", "program") == "program is stopped\n"


def test_a_job_that_fails_in_its_first_batch_is_one_error_and_a_failed_entry(
    millstream, shown, tmp_path
):
    add(tmp_path, "a", -1)
    start = ("run", "scores.py", "--set", f"folder={tmp_path}", "--name", "copying")
    failed = millstream(*start, "--master", "local[1]", code=1)
    assert "no such score" in failed
    assert "MS201 in step 'checked'" in failed
    job = shown()
    assert (job["state"], job["code"]) == ("failed", "MS201")
    assert "MS201 in step 'checked'" in millstream("jobs", "logs", "copying")


@pytest.mark.parametrize("detach", [(), ("--detach",)])
def test_a_program_that_does_not_import_is_one_error_and_a_failed_entry(
    millstream, shown, tmp_path, detach
):
    (tmp_path / "broken.py").write_text("import no_such_module\n")
    error = millstream("run", "broken.py", "--name", "copying", *detach, code=1)
    assert "MS227" in error
    assert "No module named 'no_such_module' (broken.py, line 1)" in error
    assert (shown()["state"], shown()["code"]) == ("failed", "MS227")
    assert "no_such_module" in millstream("jobs", "logs", "copying")


def test_a_list_of_no_jobs_is_empty_and_makes_no_registry(millstream, tmp_path):
    assert millstream("jobs", "list") == f"no jobs are recorded in {tmp_path}/data/jobs\n"
    assert millstream("jobs", "list", "--json") == "[]\n"
    assert "# TYPE millstream_job_up gauge" in millstream("jobs", "metrics")
    assert not (tmp_path / "data").exists()


def test_names_are_confined_and_unknown_jobs_are_errors(millstream):
    for name in ("../elsewhere", "new\nline"):
        assert "MS113" in millstream("run", "scores.py", "--name", name, code=1)
    for command in ("show", "logs", "stop", "resume", "delete"):
        assert "MS226" in millstream("jobs", command, "nothing", code=1)
    error = json.loads(millstream("jobs", "stop", "nothing", "--json", code=1))
    assert error["error"]["code"] == "MS226"


def test_explain_shows_the_plan_of_a_file(millstream):
    assert "write_files 'output'" in millstream("explain", "scores.py", "--set", "folder=/data")
    physical = millstream("explain", "scores.py:copy", "--set", "folder=/data", "--physical")
    assert physical.startswith("one streaming query")
    plan = json.loads(millstream("explain", "scores.py", "--set", "folder=/data", "--json"))
    assert plan["steps"][-1]["inputs"] == ["checked"]
    assert "MS227" in millstream("explain", "scores.py", code=1)
