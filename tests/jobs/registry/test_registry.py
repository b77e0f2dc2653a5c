"""What the registry has of jobs, and how they are named."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from dataclasses import replace

import pytest

from millstream.jobs.registry.database import registry_file
from millstream.jobs.registry.entries import SILENT, Place
from millstream.jobs.registry.registry import job_id
from millstream.model.errors import RunError
from waiting import until


def test_a_job_is_known_by_the_folder_of_its_checkpoint(registry, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    first = registry.register("totals", "a.py", "checkpoints/totals")
    assert registry.register("totals", "b.py", f"{tmp_path}/checkpoints/totals") == first
    assert registry.register("totals", "b.py", "s3://bucket/totals") != first
    assert job_id("s3://bucket/totals") in {each.id for each in registry.jobs()}


def test_a_job_is_found_by_its_name_or_id(registry):
    first = registry.register("totals", "a.py", "/one/totals")
    assert registry.job("totals").id == registry.job(first).id == first
    second = registry.register("totals", "a.py", "/two/totals")
    with pytest.raises(RunError, match="MS226.*2 jobs 'totals'") as caught:
        registry.job("totals")
    assert first in caught.value.fix
    assert second in caught.value.fix
    with pytest.raises(RunError, match="MS226.*no job 'total'") as caught:
        registry.job("total")
    assert "did you mean 'totals'?" in caught.value.fix


def test_runs_are_numbered_and_the_last_one_is_that_of_the_job(registry):
    job = registry.register("totals", "a.py", "/one/totals")
    registry.fail_run(registry.begin_run(job), "MS201 in step 'parse': no number")
    assert (registry.job(job).state, registry.job(job).run.code) == ("failed", "MS201")
    registry.begin_run(job)
    assert registry.job(job).state == "starting"
    runs = registry.runs(job)
    assert [(each.number, each.state) for each in runs] == [(2, "starting"), (1, "failed")]
    assert runs[0].place.process.pid == os.getpid()


def test_of_many_runs_the_last_hundred_are_kept(registry):
    job = registry.register("totals", "a.py", "/one/totals")
    for _ in range(105):
        registry.fail_run(registry.begin_run(job), "ValueError: no number")
    assert [each.number for each in registry.runs(job)] == list(range(105, 5, -1))


def test_a_job_whose_process_was_killed_is_lost_and_so_is_its_run_after_the_next_start(registry):
    program = (
        "import time\n"
        "from millstream.jobs.registry.registry import opened_registry\n"
        "with opened_registry() as registry:\n"
        "    registry.begin_run(registry.register('totals', 'a.py', '/one/totals'))\n"
        "    print('begun', flush=True)\n"
        "    time.sleep(600)\n"
    )
    command = [sys.executable, "-c", program]
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "begun\n"
        assert registry.job("totals").state == "starting"
        process.send_signal(signal.SIGKILL)
    until(lambda: registry.job("totals").state == "lost")
    assert f"process {process.pid}" in registry.job("totals").run.reason
    job = registry.job("totals").id
    registry.begin_run(job)
    assert [each.state for each in registry.runs(job)] == ["starting", "lost"]


def test_a_process_of_another_machine_is_dead_after_silence_alone():
    elsewhere = replace(Place.own(), machine="another boot")
    assert Place.parse(str(elsewhere)) == elsewhere
    assert elsewhere.runs(beat=100.0, now=100.0 + SILENT - 1)
    assert not elsewhere.runs(beat=100.0, now=100.0 + SILENT + 1)
    assert Place.own().runs(beat=0.0, now=1e9)


def test_a_job_that_is_about_to_be_started_again_is_starting(registry):
    job = registry.register("totals", "a.py", "/one/totals")
    registry.fail_run(registry.begin_run(job), "KafkaError")
    registry.set_supervisor(job, Place.own())
    assert registry.job(job).state == "starting"
    registry.set_supervisor(job, None)
    assert registry.job(job).state == "failed"


def test_a_stopped_job_that_is_resumed_is_starting_until_it_is_stopped_again(registry):
    stopped = "UPDATE run SET state = 'stopped' WHERE id = ?"
    job = registry.register("totals", "a.py", "/one/totals")
    registry.database.execute(stopped, (registry.begin_run(job),))
    registry.set_supervisor(job, Place.own())
    assert registry.job(job).state == "starting"
    registry.database.execute(stopped, (registry.begin_run(job),))
    assert registry.job(job).state == "stopped"  # its supervisor is about to end


def test_a_deleted_job_leaves_nothing_behind(registry):
    job = registry.register("totals", "a.py", "/one/totals")
    run = registry.begin_run(job)
    registry.database.execute("INSERT INTO batch VALUES (?, 0, 0, 0, '{}')", (run,))
    registry.delete(job)
    for table in ("job", "run", "batch"):
        assert registry.database.execute(f"SELECT count(*) FROM {table}").fetchone()[0] == 0


def test_the_registry_is_that_of_the_data_directory(registry, data):
    assert registry.file == registry_file() == registry_file(data)
