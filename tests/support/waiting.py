"""Waiting for conditions, not for time."""

from __future__ import annotations

import time
from collections.abc import Callable

from millstream.jobs.job import Job

AT_MOST = 120.0  # seconds; what is waited for takes a few where nothing else runs


def until(condition: Callable[[], object], job: Job | None = None) -> None:
    """Waits for a condition, and no longer than the job runs."""
    deadline = time.monotonic() + AT_MOST
    while not condition():
        assert time.monotonic() < deadline, "it never came to this"
        if job is not None and job.progress().over:
            job.wait()  # raises what ended it
        time.sleep(0.05)
