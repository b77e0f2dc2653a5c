"""What a program does after each batch of its job: the function that it gave to ``run``."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from millstream.reports.progress import BatchReport, Progress
from millstream.reports.tracker import Tracker

OnBatch = Callable[[Progress], Any]

_log = logging.getLogger("millstream.job")


class BatchListener:
    """Calls a function with the job's progress after each batch, in the thread of the job.

    The job does not fail if the function does: the first error is logged.
    """

    def __init__(self, job: str, function: OnBatch, tracker: Tracker) -> None:
        self._job = job
        self._function = function
        self._tracker = tracker
        self._warned = False

    def __call__(self, report: BatchReport | None) -> None:
        if report is None:
            return
        try:
            self._function(self._tracker.progress())
        except Exception:
            if not self._warned:
                self._warned = True
                _log.warning(
                    "job %r continues, but its on_batch function failed; "
                    "further errors of it are not logged",
                    self._job,
                    exc_info=True,
                )
