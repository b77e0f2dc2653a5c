"""How far a running job has come: what a micro-batch reports, and what the reports add up to."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal, get_args

from millstream.model.durations import format_duration
from millstream.model.instants import END_OF_TIME, START_OF_TIME

State = Literal["starting", "running", "stopping", "stopped", "finished", "failed"]
"""Where a job is in its life; the last three are ends."""

_ORDER: tuple[State, ...] = get_args(State)
_ENDS = frozenset(_ORDER[3:])

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
"""The watermark of a job that has seen no event time yet."""
AFTER_ALL = datetime.max.replace(tzinfo=UTC)
"""The watermark of a job whose input has ended."""

_KEPT = 64  # a batch is redone right away or never: older ones live on in the totals alone
# The rate is taken over half a minute, or where batches are rare, over some of them.
_RATE_SECONDS = 30.0
_RATE_BATCHES = 5


@dataclass(frozen=True)
class Split:
    """A part of a source with a watermark of its own, such as a partition of Kafka."""

    source: str
    """The source that it is a part of."""
    split: str
    """Its name; empty where the source is one split."""
    watermark: datetime | None
    """How far it has come; the least datetime if it has brought no event time yet."""
    idle: bool
    """Whether it has been silent for so long that it is not waited for."""


@dataclass(frozen=True)
class BatchReport:
    """One finished micro-batch, as the driver hears of it."""

    batch: int
    started: float
    """Seconds since 1970-01-01 UTC."""
    seconds: float
    """How long it took."""
    rows: int
    """Rows read from the sources."""
    written: Mapping[str, int] = field(default_factory=dict)
    """Rows for each sink."""
    late: Mapping[str, int] = field(default_factory=dict)
    """Late rows for each grouping."""
    rejected: Mapping[str, int] = field(default_factory=dict)
    """Rejected rows for each step."""
    lost: Mapping[str, int] = field(default_factory=dict)
    """Records for each source that were gone before it could read them."""
    ahead: Mapping[str, int] = field(default_factory=dict)
    """Rows for each step whose time was too far ahead of the clock to move the watermark."""
    watermark: int | None = None
    """In microseconds, the least over the groupings; None where there is none."""
    state_rows: int = 0
    """Live panes, and elements that are kept."""
    state_bytes: int = 0
    splits: tuple[Split, ...] = ()
    """Those of all sources that are farthest behind."""
    waiting: str | None = None
    """What the watermark waits for, if that has been silent for long."""

    @property
    def ended(self) -> float:
        return self.started + self.seconds


@dataclass(frozen=True)
class Progress:
    """How far a job has come, counted from when it was started or resumed."""

    state: State
    """Starting, running or stopping; at its end stopped, finished or failed."""
    batches: int
    """Batches that have ended, those without rows too."""
    rows: int
    """Rows read from the sources."""
    rows_per_second: float
    """Over the last half minute, or the last five batches; it fades while nothing comes."""
    last_batch_seconds: float | None
    """None before the first batch is done."""
    watermark: datetime | None
    """None without groupings; the least and the greatest datetime stand for the ends of time."""
    watermark_lag: timedelta | None
    """How far the watermark is behind the clock; None where there is none, or at an end of time."""
    state_rows: int
    """Live panes, and elements that are kept."""
    state_bytes: int
    """How large these are, as they are stored."""
    splits: tuple[Split, ...]
    """The splits of the sources, the farthest behind first: twenty for each grouping at most."""
    waiting: str | None
    """What the watermark waits for, if that has been silent for long."""
    late_by_step: Mapping[str, int]
    """Late rows for each grouping."""
    rejected_by_step: Mapping[str, int]
    """Rejected rows for each step."""
    lost_by_step: Mapping[str, int]
    """Records that were gone before they were read, for each source."""
    ahead_by_step: Mapping[str, int]
    """Rows for each step whose time was too far ahead of the clock to move the watermark."""
    written: Mapping[str, int]
    """Rows for each sink."""
    recent_rows: tuple[int, ...]
    """Rows of each of the last batches, the newest at the end."""
    error: str | None = None
    """What ended a job that has failed."""
    restarts: int = 0
    """How often the query was started again, after a process that it needs was lost."""

    @property
    def late(self) -> int:
        """Late rows of all groupings."""
        return sum(self.late_by_step.values())

    @property
    def rejected(self) -> int:
        """Rejected rows of all steps."""
        return sum(self.rejected_by_step.values())

    @property
    def lost(self) -> int:
        """Records that were gone before a source could read them, where it may continue."""
        return sum(self.lost_by_step.values())

    @property
    def ahead(self) -> int:
        """Rows whose time was too far ahead of the clock to move the watermark."""
        return sum(self.ahead_by_step.values())

    @property
    def over(self) -> bool:
        """Whether the job has come to an end, good or bad."""
        return self.state in _ENDS

    def to_dict(self) -> dict[str, Any]:
        """The same for machines: everything in it can be written as JSON."""
        last, lag = self.last_batch_seconds, self.watermark_lag
        return {
            "state": self.state,
            "error": self.error,
            "batches": self.batches,
            "rows": self.rows,
            "rows_per_second": round(self.rows_per_second, 1),
            "last_batch_seconds": None if last is None else round(last, 3),
            "watermark": None if self.watermark is None else self.watermark.isoformat(),
            "watermark_lag_seconds": None if lag is None else round(lag.total_seconds(), 3),
            "state_rows": self.state_rows,
            "state_bytes": self.state_bytes,
            "splits": [
                {**vars(each), "watermark": each.watermark and each.watermark.isoformat()}
                for each in self.splits
            ],
            "waiting": self.waiting,
            "late": self.late,
            "late_by_step": dict(self.late_by_step),
            "rejected": self.rejected,
            "rejected_by_step": dict(self.rejected_by_step),
            "lost": self.lost,
            "lost_by_step": dict(self.lost_by_step),
            "ahead": self.ahead,
            "ahead_by_step": dict(self.ahead_by_step),
            "restarts": self.restarts,
            "written": dict(self.written),
        }

    def __str__(self) -> str:
        read = f"{counted(self.rows, 'row')} ({rate_in_words(self.rows_per_second)})"
        parts = [counted(self.batches, "batch", "batches"), read]
        if self.watermark is not None:
            parts.append(f"watermark {watermark_in_words(self)}")
            parts.append(f"state {size_in_words(self)}")
        parts += [f"{self.late:,} late", f"{self.rejected:,} rejected"]
        parts += [f"{self.lost:,} lost"] if self.lost else []
        parts += [f"{self.ahead:,} ahead of the clock"] if self.ahead else []
        parts += [counted(self.restarts, "restart")] if self.restarts else []
        error = f" ({self.error.splitlines()[0]})" if self.error else ""
        return f"{self.state}{error}: {', '.join(parts)}"


class Tracker:
    """Adds up what a job reports. Any thread may call any method.

    Totals hold each batch once: one that is reported again, because it was redone, takes the
    place of what it reported before.

    >>> tracker = Tracker()
    >>> tracker.state("running")
    >>> tracker.report(BatchReport(batch=0, started=0, seconds=2, rows=1000, written={"all": 7}))
    >>> print(tracker.progress(now=2))
    running: 1 batch, 1,000 rows (500 rows/s), 0 late, 0 rejected
    """

    def __init__(self) -> None:
        self._changed = threading.Condition()
        self._state: State = "starting"
        self._error: str | None = None
        self._restarts = 0
        self._before: BatchReport | None = None
        self._recent: dict[int, BatchReport] = {}
        self._forgotten = -1  # the last batch that is no longer among the recent ones
        self._batches = 0
        self._rows = 0
        self._written: Counter[str] = Counter()
        self._late: Counter[str] = Counter()
        self._rejected: Counter[str] = Counter()
        self._lost: Counter[str] = Counter()
        self._ahead: Counter[str] = Counter()

    def state(self, state: State) -> None:
        """Says where the job is. It never goes back, whichever thread is the last to speak."""
        with self._changed:
            if self._state in _ENDS or _ORDER.index(state) <= _ORDER.index(self._state):
                return
            self._state = state
            self._changed.notify_all()

    def fail(self, error: str) -> None:
        """Says that the job has failed, and of what."""
        with self._changed:
            self._error = error
            self.state("failed")

    def restart(self) -> None:
        """Counts a restart of the query."""
        with self._changed:
            self._restarts += 1
            self._changed.notify_all()

    def resume(self, before: BatchReport) -> None:
        """Says where a resumed job was before: watermark, state and splits, until a batch does."""
        with self._changed:
            self._before = before
            self._changed.notify_all()

    def report(self, report: BatchReport) -> None:
        """Adds a finished batch, or puts it in the place of the same one before."""
        with self._changed:
            if report.batch <= self._forgotten:
                return
            redone = self._recent.pop(report.batch, None)
            if redone is not None:
                self._add(redone, -1)
            self._add(report, +1)
            self._recent[report.batch] = report
            self._forget()
            self._changed.notify_all()

    def progress(self, now: float | None = None) -> Progress:
        """How far the job has come; ``now`` is in seconds since 1970-01-01 UTC."""
        now = time.time() if now is None else now
        with self._changed:
            recent = [self._recent[batch] for batch in sorted(self._recent)]
            last = recent[-1] if recent else None
            stands = last or self._before
            watermark = None if stands is None else moment(stands.watermark)
            return Progress(
                state=self._state,
                batches=self._batches,
                rows=self._rows,
                rows_per_second=_rate(recent, None if self._state in _ENDS else now),
                last_batch_seconds=last.seconds if last else None,
                watermark=watermark,
                watermark_lag=_lag(watermark, now),
                state_rows=stands.state_rows if stands else 0,
                state_bytes=stands.state_bytes if stands else 0,
                splits=stands.splits if stands else (),
                waiting=stands.waiting if stands else None,
                late_by_step=dict(self._late),
                rejected_by_step=dict(self._rejected),
                lost_by_step=dict(self._lost),
                ahead_by_step=dict(self._ahead),
                written=dict(self._written),
                recent_rows=tuple(report.rows for report in recent),
                error=self._error if self._state == "failed" else None,
                restarts=self._restarts,
            )

    def wait_for_change(self, timeout: float) -> None:
        """Returns at the next report or change of state, or after so many seconds.

        What changed since the caller last looked is not waited for again: keep ``timeout`` short.
        """
        with self._changed:
            self._changed.wait(timeout)

    def _add(self, report: BatchReport, times: int) -> None:
        self._batches += times
        self._rows += times * report.rows
        for total, counts in (
            (self._written, report.written),
            (self._late, report.late),
            (self._rejected, report.rejected),
            (self._lost, report.lost),
            (self._ahead, report.ahead),
        ):
            for name, count in counts.items():
                total[name] += times * count

    def _forget(self) -> None:
        while len(self._recent) > _KEPT:
            self._forgotten = min(self._recent)
            del self._recent[self._forgotten]


def _rate(recent: Sequence[BatchReport], now: float | None) -> float:
    """Rows a second, from the start of the first of the last batches to the end of the last.

    Batches without rows count as time, and so does what passes between batches. The silence up
    to ``now`` counts once it is longer than all that: sooner, and the rate would sink while a
    batch is under way.
    """
    if not recent:
        return 0.0
    end = recent[-1].ended
    in_time = sum(report.ended > end - _RATE_SECONDS for report in recent)
    lately = recent[-max(in_time, _RATE_BATCHES) :]
    silence = 0.0 if now is None else now - end
    span = max(end - lately[0].started, silence)
    return sum(report.rows for report in lately) / span if span > 0 else 0.0


def moment(watermark: int | None) -> datetime | None:
    """A watermark as a datetime; the least and the greatest stand for the ends of time."""
    if watermark is None:
        return None
    if START_OF_TIME < watermark < END_OF_TIME:
        try:
            return _EPOCH + timedelta(microseconds=watermark)
        except OverflowError:  # beyond the years that a datetime knows
            pass
    return AFTER_ALL if watermark > 0 else BEFORE_ALL


def _lag(watermark: datetime | None, now: float) -> timedelta | None:
    if watermark is None or watermark in (BEFORE_ALL, AFTER_ALL):
        return None
    return _EPOCH + timedelta(seconds=now) - watermark


def counted(count: int, one: str, many: str = "") -> str:
    """A number of things.

    >>> counted(1, "row"), counted(1_204, "row"), counted(2, "batch", "batches")
    ('1 row', '1,204 rows', '2 batches')
    """
    return f"{count:,} {one if count == 1 else many or one + 's'}"


def rate_in_words(rows_per_second: float) -> str:
    """Rows a second, with a decimal only where it tells something.

    >>> rate_in_words(83_333.3), rate_in_words(2.5), rate_in_words(0)
    ('83,333 rows/s', '2.5 rows/s', '0 rows/s')
    """
    decimals = 1 if 0 < rows_per_second < 10 else 0
    return f"{rows_per_second:,.{decimals}f} rows/s"


def size_in_words(progress: Progress) -> str:
    """The size of the state."""
    from rich.filesize import decimal  # an import that only those pay who look

    return f"{counted(progress.state_rows, 'row')} ({decimal(progress.state_bytes)})"


def watermark_in_words(progress: Progress) -> str:
    """Where the watermark is, against the clock."""
    lag = progress.watermark_lag
    if lag is None:
        return "at the end" if progress.watermark == AFTER_ALL else "waiting for event times"
    if abs(lag) < timedelta(seconds=1):
        return "up to the clock"
    return f"{length_in_words(abs(lag))} {'behind' if lag > timedelta() else 'ahead'}"


def length_in_words(length: timedelta) -> str:
    """A length of time in one or two units, which are as many as people read.

    >>> length_in_words(timedelta(seconds=200.4)), length_in_words(timedelta(hours=30, minutes=1))
    ('3m20s', '1d6h')
    """
    if length >= timedelta(days=730):
        return f"{length // timedelta(days=365.25)} years"
    hour, day = timedelta(hours=1), timedelta(days=1)
    scales = ((hour, timedelta(seconds=1)), (day, timedelta(minutes=1)), (30 * day, hour))
    unit = next((unit for below, unit in scales if length < below), day)
    # Down, not to the nearest: a whole unit is said once it is over, as clocks do.
    return format_duration(length // unit * unit // timedelta(microseconds=1))
