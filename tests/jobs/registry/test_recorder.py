"""A job records itself, whatever becomes of the registry, and never waits for it."""

from __future__ import annotations

import logging
import shutil
import signal
import subprocess
import sys
import time

import pytest

from millstream.jobs.registry import recorder as recording
from millstream.jobs.registry.registry import Registry
from millstream.model.errors import RunError
from millstream.reports.progress import BatchReport
from waiting import until


def batch(number, rows=10):
    return BatchReport(number, started=time.time() - 1, seconds=1, rows=rows)


def test_a_run_is_recorded_from_its_start_to_its_end(record, registry):
    tracker, recorder = record()
    until(lambda: registry.jobs())
    assert registry.job("totals").state == "starting"
    tracker.state("running")
    tracker.report(batch(0))
    tracker.report(batch(1, rows=5))
    recorder.describe({"sink:totals": 2})
    until(lambda: len(registry.batches(registry.job("totals").id)) == 2)
    job = registry.job("totals")
    assert (job.state, job.run.progress["rows"], job.run.ended) == ("running", 15, None)
    until(lambda: registry.job("totals").plan["steps"][1].get("parallelism") == 2)
    tracker.state("stopped")
    recorder.close()
    job = registry.job("totals")
    assert job.state == "stopped"
    assert job.run.ended == pytest.approx(time.time(), abs=60)


def test_a_retried_batch_replaces_its_first_try(record, registry):
    tracker, _ = record()
    for rows in (10, 12):
        tracker.report(batch(0, rows))
    until(lambda: registry.jobs())
    until(lambda: [e["rows"] for e in registry.batches(registry.job("totals").id)] == [12])


def test_a_failure_has_its_reason_and_code(record, registry):
    tracker, recorder = record()
    tracker.fail("MS201 in step 'parse': no number")
    recorder.close()
    run = registry.job("totals").run
    assert (run.state, run.code, run.reason) == (
        "failed", "MS201", "MS201 in step 'parse': no number"
    )  # fmt: skip


def test_no_secret_of_an_error_reaches_the_registry(record, registry):
    tracker, recorder = record()
    tracker.fail("MS201 in step 'parse': sasl.password=hunter2 is wrong")
    recorder.close()
    run = registry.job("totals").run
    assert "hunter2" not in f"{run.reason} {run.progress}"
    assert (
        run.reason
        == run.progress["error"]
        == "MS201 in step 'parse': sasl.password=•••••• is wrong"
    )


def test_a_job_that_does_not_start_has_failed(record, registry):
    _, recorder = record()
    recorder.fail(RunError("MS215", "there are no files", fix="add some"))
    assert registry.job("totals").run.code == "MS215"
    assert registry.job("totals").state == "failed"


def test_ctrl_c_before_a_job_has_started_stops_it(record, registry):
    _, recorder = record()
    recorder.fail(KeyboardInterrupt())
    assert registry.job("totals").state == "stopped"


def test_a_request_to_stop_reaches_the_job_once_it_can_be_stopped(record, registry):
    tracker, recorder = record()
    until(lambda: registry.jobs())
    registry.request_stop(registry.job("totals").run.id)
    tracker.report(batch(0))
    stops = []
    recorder.on_stop(lambda: stops.append(1))
    until(lambda: stops)
    tracker.report(batch(1))
    until(lambda: len(registry.batches(registry.job("totals").id)) == 2)
    assert stops == [1]


@pytest.fixture
def impatient(monkeypatch):
    """A recorder that gives up soon, and tries again soon."""
    monkeypatch.setattr(recording, "_PATIENCE", 0.1)
    monkeypatch.setattr(recording, "_RETRIES", 0.1)
    monkeypatch.setattr(recording, "_LOOKS", 0.1)


def warnings(caplog):
    return [each for each in caplog.records if each.levelno == logging.WARNING]


def test_while_the_registry_is_locked_the_job_continues_and_catches_up(
    record, registry, impatient, caplog
):
    tracker, _ = record()
    until(lambda: registry.jobs())
    registry.database.execute("BEGIN EXCLUSIVE")
    for number in range(5):
        began = time.monotonic()
        tracker.report(batch(number))
        assert time.monotonic() - began < 0.05
    until(lambda: warnings(caplog))
    time.sleep(0.5)  # several more attempts, which all fail
    registry.database.execute("ROLLBACK")
    until(lambda: len(registry.batches(registry.job("totals").id)) == 5)
    (warning,) = warnings(caplog)
    assert "database is locked" in warning.getMessage()
    assert "continues without it" in warning.getMessage()


def test_a_registry_that_is_removed_is_made_again(record, data, impatient, caplog):
    tracker, _ = record()
    until(lambda: (data / "jobs" / "registry.db").exists())
    shutil.rmtree(data)
    tracker.report(batch(0))

    def recorded():
        registry = Registry(data / "jobs" / "registry.db")
        try:
            return [each.state for each in registry.jobs()] == ["running"]
        finally:
            registry.close()

    tracker.state("running")
    until(recorded)


def test_a_job_without_a_usable_registry_warns_once_and_ends_as_it_would(
    record, data, impatient, caplog
):
    data.write_text("a file where the folder would be")
    tracker, recorder = record()
    for number in range(20):
        tracker.report(batch(number))
    until(lambda: warnings(caplog))
    tracker.state("finished")
    began = time.monotonic()
    recorder.close()
    assert time.monotonic() - began < 5
    assert len(warnings(caplog)) == 1


def test_a_disk_without_room_ends_nothing(record, registry, impatient, caplog, monkeypatch):
    tracker, recorder = record()
    until(lambda: recorder._registry is not None and registry.jobs())
    connected = recording.Registry

    def full(file, patience):
        """A registry that may not become larger, as on a disk that is full."""
        made = connected(file, patience)
        pages = made.database.execute("PRAGMA page_count").fetchone()[0]
        made.database.execute(f"PRAGMA max_page_count = {pages}")
        return made

    monkeypatch.setattr(recording, "Registry", full)
    recorder._inode = 0  # it connects again
    for number in range(2000):
        tracker.report(batch(number))
    until(lambda: warnings(caplog))
    (warning,) = warnings(caplog)
    assert "full" in warning.getMessage()
    assert tracker.progress().batches == 2000


def test_processes_that_are_killed_while_they_write_damage_nothing(registry):
    program = (
        "import time\n"
        "from millstream.jobs.registry.recorder import Recorder\n"
        "from millstream.reports.progress import BatchReport\n"
        "from millstream.reports.tracker import Tracker\n"
        "import sys\n"
        "tracker = Tracker()\n"
        "Recorder(sys.argv[1], f'/checkpoints/{sys.argv[1]}', {'steps': []}, tracker)\n"
        "tracker.state('running')\n"
        "number = 0\n"
        "while True:\n"
        "    tracker.report(BatchReport(number, started=time.time(), seconds=0, rows=1))\n"
        "    number += 1\n"
        "    time.sleep(0.001)\n"
    )
    names = [f"job-{n}" for n in range(4)]
    processes = [subprocess.Popen([sys.executable, "-c", program, name]) for name in names]
    try:

        def all_written():
            return len(registry.jobs()) == 4 and all(
                len(registry.batches(each.id)) > 20 for each in registry.jobs()
            )

        until(all_written)
    finally:
        for process in processes:
            process.send_signal(signal.SIGKILL)
            process.wait()
    until(lambda: {each.state for each in registry.jobs()} == {"lost"})
    assert registry.database.execute("PRAGMA integrity_check").fetchone()[0] == "ok"
    for job in registry.jobs():
        numbers = [each["batch"] for each in registry.batches(job.id)]
        assert numbers == list(range(len(numbers)))
