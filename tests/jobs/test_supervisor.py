"""A supervisor starts a job again that has failed; here, the jobs are small programs."""

from __future__ import annotations

import json
import sys
import threading

import pytest

from millstream.jobs import control
from millstream.jobs.logs import limit_size, log_file
from millstream.jobs.registry.registry import opened_registry
from millstream.jobs.supervisor import Supervisor, detach
from millstream.model.errors import RunError
from millstream.spark.driver.restarts import Restarts
from millstream.system.data_directory import DATA
from waiting import until

JOB = """
import json, os, signal, sys, time
from millstream.jobs.registry.registry import opened_registry
with opened_registry() as registry:
    job = registry.job("totals")
    run = registry.begin_run(job.id)
    number = registry.job("totals").run.number
    print("run", number, flush=True)
    what = json.loads(sys.argv[1])[number - 1]
    progress = json.dumps({"batches": 0 if what == "bad" else 5})
    registry.database.execute("UPDATE run SET progress = ? WHERE id = ?", (progress, run))
    if what == "killed":
        os.kill(os.getpid(), signal.SIGKILL)
    if what == "runs":
        time.sleep(600)
    if what != "ends":
        registry.fail_run(run, "MS201: no number")
        sys.exit(1)
    registry.database.execute("UPDATE run SET state = 'finished' WHERE id = ?", (run,))
"""


@pytest.fixture
def registry(tmp_path, monkeypatch):
    monkeypatch.setenv(DATA, str(tmp_path / "data"))
    with opened_registry() as registry:
        yield registry


@pytest.fixture
def job(registry, tmp_path):
    """Registers a job whose runs do one thing after the other."""

    def register(*whats):
        command = [sys.executable, "-c", JOB, json.dumps(whats)]
        launch = {"command": command, "directory": str(tmp_path)}
        id = registry.register("totals", "totals.py", "/checkpoints/totals", launch)
        log = log_file(registry.file, "totals", id)
        log.parent.mkdir(exist_ok=True)
        log.touch()
        return registry.job(id)

    return register


def quick(limit=5):
    """Restarts without a pause."""
    restarts = Restarts(limit)
    pause = restarts.pause
    restarts.pause = lambda: None if pause() is None else 0.0
    return restarts


def states(registry):
    return [each.state for each in reversed(registry.runs(registry.job("totals").id))]


def log_of(registry):
    return log_file(registry.file, "totals", registry.job("totals").id).read_text()


def test_a_job_that_fails_or_is_killed_is_started_again_until_it_ends(registry, job):
    Supervisor(job("fails", "killed", "ends").id, quick()).run()
    assert states(registry) == ["failed", "lost", "finished"]
    assert "restart 1 of 5 in 10 minutes): MS201: no number" in log_of(registry)
    assert registry.job("totals").supervisor is None


def test_a_job_that_fails_at_its_start_is_not_started_again(registry, job):
    Supervisor(job("bad", "ends").id, quick()).run()
    assert states(registry) == ["failed"]
    assert "it failed at its start: MS201: no number" in log_of(registry)


def test_one_that_has_worked_before_is(registry, job):
    Supervisor(job("fails", "bad", "ends").id, quick()).run()
    assert states(registry) == ["failed", "failed", "finished"]


def test_a_job_that_fails_too_often_stays_failed(registry, job):
    Supervisor(job("fails", "fails", "fails", "ends").id, quick(limit=2)).run()
    assert states(registry) == ["failed"] * 3
    assert "it has failed too often" in log_of(registry)


def test_a_job_that_waits_to_be_started_again_can_be_stopped(registry, job):
    supervised = Supervisor(job("fails", "ends").id, Restarts(5))
    supervised._restarts.pause = lambda: 600.0
    thread = threading.Thread(target=supervised.run)
    thread.start()
    until(lambda: "started again in 600 s" in log_of(registry))
    assert registry.job("totals").state == "starting"
    supervised.stop()
    thread.join()
    assert states(registry) == ["failed"]


def test_a_detached_job_runs_alone_and_is_ended_by_its_supervisor(registry, job, monkeypatch):
    entry = job("runs")
    log = detach(registry, entry)
    until(lambda: registry.runs(entry.id))
    running = registry.job("totals")
    assert "run 1" in log.read_text()
    with pytest.raises(RunError, match="MS209.*'totals' runs already"):
        control.check_can_resume(registry, running)
    with pytest.raises(RunError, match="MS228.*cannot be deleted while it runs"):
        control.delete(registry, running, with_checkpoint=False)
    running.supervisor.process.send(15)
    until(lambda: not registry.job("totals").is_alive)
    assert registry.job("totals").state == "lost"  # this one does not handle SIGTERM


def test_a_job_that_does_not_end_in_time_is_an_error(registry, job):
    entry = job("runs")
    detach(registry, entry)
    until(lambda: registry.runs(entry.id))
    with pytest.raises(RunError, match="MS228.*has not ended in 0.1 s: process"):
        control.stop(registry, registry.job("totals"), patience=0.1)
    registry.job("totals").run.place.process.send(9)
    until(lambda: not registry.job("totals").is_alive)  # it was asked to stop


def test_jobs_of_other_programs_cannot_be_resumed(registry):
    registry.register("totals", "totals.py", "/checkpoints/totals")
    with pytest.raises(RunError, match="MS228.*not started with 'millstream run'") as caught:
        control.check_can_resume(registry, registry.job("totals"))
    assert "totals.py" in caught.value.fix


def test_a_deleted_job_may_take_its_checkpoint_along(registry, tmp_path):
    folder = tmp_path / "checkpoints" / "totals"
    folder.mkdir(parents=True)
    job = registry.register("totals", "totals.py", str(folder))
    control.delete(registry, registry.job(job), with_checkpoint=True)
    assert not folder.exists()
    assert folder.parent.exists()
    assert registry.jobs() == []


def test_a_large_log_is_put_aside(tmp_path):
    log = tmp_path / "totals.log"
    with log.open("ab") as running:
        running.write(b"x" * 100)
        running.flush()
        limit_size(log, most=99)
        running.write(b"new")
    assert log.read_bytes() == b"new"
    assert (tmp_path / "totals.log.1").read_bytes() == b"x" * 100
