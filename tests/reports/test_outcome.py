"""A job that fails is never silent, and never reported twice to a program that has seen it."""

from __future__ import annotations

import logging

import pytest

import millstream as ms
from millstream.model.errors import RunError
from millstream.reports.outcome import Outcome, error_text
from waiting import until

ERROR = RunError("MS201", "fragile failed", fix="fix it", step="checked")


def test_a_failure_without_a_waiting_thread_is_logged(caplog):
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
