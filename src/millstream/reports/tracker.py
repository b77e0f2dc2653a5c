"""Adds up the reports of a job's micro-batches to its progress."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Sequence
from datetime import datetime, timedelta
from typing import get_args

from millstream.reports.progress import (
    AFTER_ALL,
    BEFORE_ALL,
    ENDS,
    EPOCH,
    BatchReport,
    Progress,
    State,
    moment,
)
from millstream.reports.steps import Step, StepProgress

_ORDER: tuple[State, ...] = get_args(State)

_KEPT = 64  # a batch is retried at once or never: older ones are kept in the totals alone
# The rate is that of the last half minute, or if batches are rare, of the last few.
_RATE_SECONDS = 30.0
_RATE_BATCHES = 5

_COUNTS = ("written", "late", "rejected", "lost", "ahead", "read", "taken", "emitted")
"""The fields of a report that add up, each by step or sink."""

Listener = Callable[[BatchReport | None], None]
"""What is called after each batch, with its report, and after each other change, with None."""


class Tracker:
    """Adds up what a job reports. Any thread may call any method.

    Totals contain each batch once: the report of a retried batch replaces its earlier one.

    >>> tracker = Tracker()
    >>> tracker.state("running")
    >>> tracker.report(BatchReport(batch=0, started=0, seconds=2, rows=1000, written={"all": 7}))
    >>> print(tracker.progress(now=2))
    running: 1 batch, 1,000 rows (500 rows/s), 0 late, 0 rejected
    """

    def __init__(self, steps: Sequence[Step] = ()) -> None:
        self._steps = steps
        self._changed = threading.Condition()
        self._listeners: list[Listener] = []
        self._state: State = "starting"
        self._error: str | None = None
        self._restarts = 0
        self._before: BatchReport | None = None
        self._recent: dict[int, BatchReport] = {}
        self._forgotten = -1  # the last batch that is no longer among the recent ones
        self._batches = 0
        self._rows = 0
        self._counts: dict[str, Counter[str]] = {name: Counter() for name in _COUNTS}

    def subscribe(self, listener: Listener) -> None:
        """Calls a function after each change, in the thread that reports it."""
        self._listeners.append(listener)

    def state(self, state: State) -> None:
        """Sets where the job is. It never moves back, whichever thread calls last."""
        with self._changed:
            if self._state in ENDS or _ORDER.index(state) <= _ORDER.index(self._state):
                return
            self._state = state
            self._changed.notify_all()
        self._notify()

    def fail(self, error: str) -> None:
        """Sets that the job has failed, and why."""
        with self._changed:
            self._error = error
        self.state("failed")

    def restart(self) -> None:
        """Counts a restart of the query."""
        with self._changed:
            self._restarts += 1
            self._changed.notify_all()
        self._notify()

    def resume(self, before: BatchReport) -> None:
        """Sets where a resumed job was before: watermark, state and splits, until a batch ends."""
        with self._changed:
            self._before = before
            self._changed.notify_all()

    def report(self, report: BatchReport) -> None:
        """Adds a finished batch, or replaces the earlier report of the same batch."""
        with self._changed:
            if report.batch <= self._forgotten:
                return
            retried = self._recent.pop(report.batch, None)
            if retried is not None:
                self._add(retried, -1)
            self._add(report, +1)
            self._recent[report.batch] = report
            self._forget()
            self._changed.notify_all()
        self._notify(report)

    def progress(self, now: float | None = None) -> Progress:
        """The progress of the job; ``now`` is in seconds since 1970-01-01 UTC."""
        now = time.time() if now is None else now
        with self._changed:
            recent = [self._recent[batch] for batch in sorted(self._recent)]
            last = recent[-1] if recent else None
            latest = last or self._before
            watermark = None if latest is None else moment(latest.watermark)
            return Progress(
                state=self._state,
                batches=self._batches,
                rows=self._rows,
                rows_per_second=_rate(recent, None if self._state in ENDS else now),
                last_batch_seconds=last.seconds if last else None,
                watermark=watermark,
                watermark_lag=_lag(watermark, now),
                state_rows=latest.state_rows if latest else 0,
                state_bytes=latest.state_bytes if latest else 0,
                splits=latest.splits if latest else (),
                waiting=latest.waiting if latest else None,
                late_by_step=dict(self._counts["late"]),
                rejected_by_step=dict(self._counts["rejected"]),
                lost_by_step=dict(self._counts["lost"]),
                ahead_by_step=dict(self._counts["ahead"]),
                written=dict(self._counts["written"]),
                recent_rows=tuple(report.rows for report in recent),
                steps=tuple(self._step(step, latest) for step in self._steps),
                error=self._error if self._state == "failed" else None,
                restarts=self._restarts,
            )

    def wait_for_change(self, timeout: float) -> None:
        """Returns at the next report or change of state, or after ``timeout`` seconds.

        A change before the call does not end the wait: keep ``timeout`` short.
        """
        with self._changed:
            self._changed.wait(timeout)

    def _notify(self, report: BatchReport | None = None) -> None:
        for listener in self._listeners:
            listener(report)

    def _add(self, report: BatchReport, times: int) -> None:
        self._batches += times
        self._rows += times * report.rows
        for name, total in self._counts.items():
            for step, count in getattr(report, name).items():
                total[step] += times * count

    def _step(self, step: Step, latest: BatchReport | None) -> StepProgress:
        counts, name = self._counts, step.name
        if not step.gives and step.takes:  # a sink
            return StepProgress(step.id, step.kind, rows_in=counts["written"][name])
        taken, emitted = counts["taken"][name], counts["emitted"][name]
        if name in counts["read"]:
            taken = counts["read"][name]
            emitted = taken - counts["rejected"][name]
        rows, size = latest.state.get(name, (0, 0)) if latest else (0, 0)
        calls = latest.calls.get(name, {}) if latest else {}
        callback = max(calls, key=lambda each: calls[each], default=None)
        return StepProgress(
            id=step.id,
            kind=step.kind,
            rows_in=taken if step.takes else None,
            rows_out=emitted if step.gives else None,
            watermark=moment(latest.watermarks.get(name)) if latest else None,
            state_rows=rows,
            state_bytes=size,
            late=counts["late"][name],
            rejected=counts["rejected"][name],
            lost=counts["lost"][name],
            ahead=counts["ahead"][name],
            callback=callback,
            callback_seconds=0.0 if callback is None else calls[callback],
        )

    def _forget(self) -> None:
        while len(self._recent) > _KEPT:
            self._forgotten = min(self._recent)
            del self._recent[self._forgotten]


def _rate(recent: Sequence[BatchReport], now: float | None) -> float:
    """Rows a second, from the start of the first of the last batches to the end of the last.

    Batches without rows count as time, and so does the time between batches. The time up to
    ``now`` counts once it is longer than all that: otherwise the rate would fall while a batch is
    running.
    """
    if not recent:
        return 0.0
    end = recent[-1].ended
    in_time = sum(report.ended > end - _RATE_SECONDS for report in recent)
    lately = recent[-max(in_time, _RATE_BATCHES) :]
    silence = 0.0 if now is None else now - end
    span = max(end - lately[0].started, silence)
    return sum(report.rows for report in lately) / span if span > 0 else 0.0


def _lag(watermark: datetime | None, now: float) -> timedelta | None:
    if watermark is None or watermark in (BEFORE_ALL, AFTER_ALL):
        return None
    return EPOCH + timedelta(seconds=now) - watermark
