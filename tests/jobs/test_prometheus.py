"""The text that Prometheus reads: each metric once, with its type, and values by job and step."""

from __future__ import annotations

import json
import re

from millstream.jobs.prometheus import metrics_text
from millstream.jobs.registry.registry import opened_registry
from millstream.reports.progress import BatchReport
from millstream.reports.steps import Step
from millstream.reports.tracker import Tracker

LINE = re.compile(r'millstream_job_\w+\{(\w+="([^"\\]|\\.)*"(,|(?=\})))+\} -?[\d.]+')


def recorded(registry, name, progress):
    job = registry.register(name, "totals.py", f"/checkpoints/{name}")
    values = (json.dumps(progress.to_dict()), registry.begin_run(job))
    registry.database.execute("UPDATE run SET state = 'running', progress = ? WHERE id = ?", values)
    return job


def test_jobs_and_steps_have_their_metrics(tmp_path):
    tracker = Tracker([Step("totals", "totals", "aggregate", takes=True, gives=True)])
    report = {"taken": {"totals": 30}, "state": {"totals": (5, 512)}, "late": {"totals": 2}}
    tracker.report(BatchReport(0, started=1, seconds=0.5, rows=40, **report))
    with opened_registry(tmp_path) as registry:
        job = recorded(registry, 'the "red"', tracker.progress(2))
        failed = registry.register("other", "other.py", "/checkpoints/other")
        registry.fail_run(registry.begin_run(failed), "MS201: no number")
        lines = metrics_text(registry.jobs()).splitlines()
    labels = f'job_name="the \\"red\\"",job_id="{job}"'
    assert f"millstream_job_up{{{labels}}} 1" in lines
    assert f'millstream_job_up{{job_name="other",job_id="{failed}"}} 0' in lines
    assert f'millstream_job_state{{job_name="other",job_id="{failed}",state="failed"}} 1' in lines
    assert f"millstream_job_rows_total{{{labels}}} 40" in lines
    assert f'millstream_job_step_rows_in_total{{{labels},step="totals"}} 30' in lines
    assert f'millstream_job_step_state_bytes{{{labels},step="totals"}} 512' in lines
    assert f'millstream_job_step_late_total{{{labels},step="totals"}} 2' in lines
    assert "# TYPE millstream_job_rows_total counter" in lines
    assert all(line.startswith("# ") or LINE.fullmatch(line) for line in lines)
    types = [line for line in lines if line.startswith("# TYPE")]
    assert len(types) == len(set(types))
