"""The routes of jobs, over a registry that jobs have written."""

from __future__ import annotations

import json
import os
import time

import pytest

from millstream.console.job_views import BINS, job_list
from millstream.jobs.logs import log_file
from millstream.jobs.registry.metrics import batch_report
from millstream.jobs.registry.samples import write_samples
from millstream.reports.progress import BatchReport
from millstream.reports.samples import Sample
from millstream.reports.tracker import Tracker

S = 1_000_000


def run_of(registry, name="totals", *reports, state="running", error=None, launch=None):
    """A job of this process with these batches, as a recorder writes it."""
    job = registry.register(name, "app.py", f"/checkpoints/{name}", launch)
    run = registry.begin_run(job)
    tracker = Tracker()
    tracker.state("running")
    for report in reports:
        tracker.report(report)
        registry.database.execute(
            "INSERT INTO batch VALUES (?, ?, 0, ?, ?)",
            (run, report.batch, report.ended, json.dumps(batch_report(report))),
        )
        write_samples(registry.database, run, report)
    registry.database.execute(
        "UPDATE run SET state = ?, reason = ?, code = ?, progress = ? WHERE id = ?",
        (state, error, error and error[:5], json.dumps(tracker.progress().to_dict()), run),
    )
    return job


def batch(number, ago, rows=10, lag=2.0, **values):
    started = time.time() - ago
    mark = int((started - lag) * S)
    return BatchReport(number, started, 0.5, rows, watermark=mark, **values)


def test_without_a_registry_there_are_no_jobs_and_none_is_made(client, tmp_path):
    assert client().get("/api/jobs").json()["jobs"] == []
    assert list(tmp_path.iterdir()) == []
    assert client().get("/api/jobs/totals").json()["error"]["code"] == "MS226"


def test_the_list_answers_three_questions(client, registry):
    run_of(registry, "totals", *(batch(n, 60 - 10 * n) for n in range(6)))
    (job,) = client().get("/api/jobs").json()["jobs"]
    assert (job["state"], job["alive"], job["rows"]) == ("running", True, 60)  # is it alive?
    assert job["drift"] == pytest.approx(0, abs=0.02)  # does it keep up?
    assert 12 <= job["lag"] < 60  # how far is event time?
    assert (len(job["recent"]), sum(job["recent"])) == (BINS, 60)


def test_a_job_whose_lag_grows_falls_behind(registry):
    lags = (batch(n, 60 - 10 * n, lag=2.0 + 5 * n) for n in range(6))
    run_of(registry, "totals", *lags)
    (job,) = job_list(registry, time.time())
    assert job["drift"] == pytest.approx(0.5, abs=0.05)


def test_jobs_that_run_come_first(client, registry):
    run_of(registry, "a", state="failed", error="MS201: no")
    run_of(registry, "b")
    assert [job["name"] for job in client().get("/api/jobs").json()["jobs"]] == ["b", "a"]


def test_a_job_is_found_by_its_name_and_id_with_its_runs(client, registry):
    found = run_of(registry, "totals", batch(0, 5))
    for name in ("totals", found):
        page = client().get(f"/api/jobs/{name}").json()
        assert (page["name"], page["id"], page["progress"]["rows"]) == ("totals", found, 10)
        assert [each["pid"] for each in page["runs"]] == [os.getpid()]
    missing = client().get("/api/jobs/none")
    assert (missing.status_code, missing.json()["error"]["code"]) == (404, "MS226")


def test_errors_and_commands_show_no_secrets(client, registry):
    launch = {"command": ["millstream", "run", "app.py", "--set", "password=hunter2"]}
    error = "MS201 in step 'parse': token=hunter2 is wrong"
    run_of(registry, "totals", state="failed", error=error, launch=launch)
    text = client().get("/api/jobs/totals").text + client().get("/api/jobs").text
    assert "hunter2" not in text
    assert "MS201 in step 'parse'" in text


def test_the_end_of_a_log_is_shown_without_secrets(client, registry):
    job = run_of(registry, "totals")
    assert client().get("/api/jobs/totals/log").json() == {
        "there": False,
        "lines": [],
        "cut": False,
    }
    log = log_file(registry.file, "totals", job)
    log.parent.mkdir()
    log.write_text("first\n" * 200_000 + "sasl.password=hunter2\n<script>alert(1)</script>\n")
    shown = client().get("/api/jobs/totals/log").json()
    assert shown["lines"][-1] == "<script>alert(1)</script>"
    assert "hunter2" not in shown["lines"][-2]
    assert shown["cut"]
    assert len(shown["lines"]) < 100_000


def test_a_stop_reaches_the_run_and_a_job_that_has_ended_is_an_error(client, registry):
    run_of(registry, "totals")
    assert client().post("/api/jobs/totals/stop", json={}).json() == {"stopping": "totals"}
    assert registry.job("totals").run.stop
    assert client().get("/api/jobs").json()["jobs"][0]["stopping"]
    run_of(registry, "ended", state="finished")
    answer = client().post("/api/jobs/ended/stop", json={})
    assert (answer.status_code, answer.json()["error"]["code"]) == (400, "MS228")


def test_only_what_millstream_run_has_started_can_be_resumed(client, registry):
    run_of(registry, "script", state="stopped")
    answer = client().post("/api/jobs/script/resume", json={})
    assert answer.json()["error"]["code"] == "MS228"
    run_of(registry, "alive")
    answer = client().post("/api/jobs/alive/resume", json={})
    assert answer.json()["error"]["code"] == "MS209"


def test_a_job_is_removed_if_its_name_is_typed(client, registry):
    run_of(registry, "totals", state="finished")
    for wrong in ({}, {"name": "total"}, {"name": 5}, {"other": "totals"}, ["totals"]):
        answer = client().post("/api/jobs/totals/delete", json=wrong)
        assert answer.json()["error"]["code"] == "MS333"
    assert client().post("/api/jobs/totals/delete", json={"name": "totals"}).status_code == 200
    assert registry.jobs() == []


def test_the_page_of_a_code_is_there(client):
    assert client().get("/api/errors/MS201").json()["page"].startswith("# MS201")
    assert client().get("/api/errors/MS999").status_code == 404


def test_the_last_panes_and_what_was_refused_are_news(client, registry):
    from millstream.console.job_views import job_news

    made = Sample("totals", "pane", {"key": {"team": "red"}, "values": {"total": 7}})
    run_of(registry, "totals", batch(0, 5, samples=(made,)), batch(1, 1))
    news = job_news(registry, "totals", 0.0, time.time())
    assert [each["batch"] for each in news["batches"]] == [0, 1]
    assert news["samples"][0]["samples"][0][1:] == ["pane", dict(made.values)]


def test_a_thousand_jobs_are_listed_in_half_a_second(client, registry):
    with registry.database:
        for number in range(1_000):
            run_of(registry, f"job {number}", batch(0, 5), state="stopped")
    mine = client()
    began = time.perf_counter()
    assert len(mine.get("/api/jobs").json()["jobs"]) == 1_000
    assert time.perf_counter() - began < 2.0  # a machine that runs other tests as well
