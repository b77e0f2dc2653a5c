"""The metrics of jobs as text for Prometheus, from what the registry has of their last runs."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from typing import Any

from millstream.jobs.registry.entries import JobEntry

OF_JOBS = {
    "batches_total": ("batches", "counter", "Batches that have ended since the last start."),
    "rows_total": ("rows", "counter", "Rows read from the sources since the last start."),
    "rows_per_second": ("rows_per_second", "gauge", "Rows read a second, lately."),
    "last_batch_seconds": ("last_batch_seconds", "gauge", "How long the last batch took."),
    "watermark_lag_seconds": (
        "watermark_lag_seconds", "gauge", "How far the watermark is behind the clock.",
    ),
    "restarts_total": ("restarts", "counter", "Restarts of the query since the last start."),
}  # fmt: skip
OF_STEPS = {
    "step_rows_in_total": ("rows_in", "counter", "Rows that the step got."),
    "step_rows_out_total": ("rows_out", "counter", "Rows that the step emitted."),
    "step_late_total": ("late", "counter", "Rows that were too late for the step."),
    "step_rejected_total": ("rejected", "counter", "Rows that the step rejected."),
    "step_state_rows": ("state_rows", "gauge", "Rows in the state of the step."),
    "step_state_bytes": ("state_bytes", "gauge", "Bytes of the state of the step."),
}

Labels = dict[str, str]


def metrics_text(jobs: Iterable[JobEntry]) -> str:
    """The text that Prometheus reads."""
    known = list(jobs)
    up = ((_labels(job), int(job.state in ("running", "stopping"))) for job in known)
    lines = list(_lines("up", "gauge", "Whether the job runs.", up))
    states = (({**_labels(job), "state": job.state}, 1) for job in known)
    lines += _lines("state", "gauge", "The state of the job, as a label.", states)
    for metric, (field, kind, about) in OF_JOBS.items():
        values = ((_labels(job), _progress(job).get(field)) for job in known)
        lines += _lines(metric, kind, about, values)
    for metric, (field, kind, about) in OF_STEPS.items():
        values = (
            ({**_labels(job), "step": step["id"]}, step.get(field))
            for job in known
            for step in _progress(job).get("steps", ())
        )
        lines += _lines(metric, kind, about, values)
    return "".join(f"{line}\n" for line in lines)


def _lines(
    metric: str, kind: str, about: str, values: Iterable[tuple[Labels, Any]]
) -> Iterator[str]:
    name = f"millstream_job_{metric}"
    yield f"# HELP {name} {about}"
    yield f"# TYPE {name} {kind}"
    for labels, value in values:
        if value is not None:
            text = ",".join(f'{label}="{_escaped(each)}"' for label, each in labels.items())
            yield f"{name}{{{text}}} {value}"


def _labels(job: JobEntry) -> Labels:
    return {"job_name": job.name, "job_id": job.id}


def _progress(job: JobEntry) -> dict[str, Any]:
    return (job.run and job.run.progress) or {}


def _escaped(text: str) -> str:
    return text.replace("\\", r"\\").replace('"', r"\"").replace("\n", r"\n")
