"""The progress of a job: what a micro-batch reports, and the totals of these reports."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import UTC, datetime, timedelta
from typing import Any, Literal

from millstream.model.amounts import counted, length_in_words, rate_in_words
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.reports.samples import Sample
from millstream.reports.steps import StepProgress

State = Literal["starting", "running", "stopping", "stopped", "finished", "failed"]
"""Where a job is in its life; the last three are ends."""

ENDS: frozenset[State] = frozenset({"stopped", "finished", "failed"})

EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SLOW = 1.0
"""Seconds of a batch from which on a callback is named."""
BEFORE_ALL = datetime.min.replace(tzinfo=UTC)
"""The watermark of a job that has seen no event time yet."""
AFTER_ALL = datetime.max.replace(tzinfo=UTC)
"""The watermark of a job whose input has ended."""


@dataclass(frozen=True)
class Split:
    """A part of a source with its own watermark, such as a Kafka partition."""

    source: str
    """The source that it is a part of."""
    split: str
    """Its name; empty if the source is one split."""
    watermark: datetime | None
    """Its watermark; the least datetime if it has had no event time yet."""
    idle: bool
    """Whether it has been silent for so long that the watermark does not wait for it."""


@dataclass(frozen=True)
class BatchReport:
    """One finished micro-batch, as reported to the driver."""

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
    """Records for each source that were removed before it could read them."""
    ahead: Mapping[str, int] = field(default_factory=dict)
    """Rows for each step whose time was too far ahead of the clock to move the watermark."""
    watermark: int | None = None
    """In microseconds, the least of all groupings; None without groupings."""
    state_rows: int = 0
    """Live panes, and elements that are kept."""
    state_bytes: int = 0
    read: Mapping[str, int] = field(default_factory=dict)
    """Rows of each source."""
    taken: Mapping[str, int] = field(default_factory=dict)
    """Rows that operators and functions got."""
    emitted: Mapping[str, int] = field(default_factory=dict)
    """Rows that operators and functions emitted."""
    watermarks: Mapping[str, int] = field(default_factory=dict)
    """The watermark of each operator, in microseconds."""
    state: Mapping[str, tuple[int, int]] = field(default_factory=dict)
    """The rows and bytes of the state of each operator."""
    phases: Mapping[str, float] = field(default_factory=dict)
    """Seconds: those of Spark's tasks, and those in which sinks were committed."""
    splits: tuple[Split, ...] = ()
    """Those of all sources that are farthest behind."""
    waiting: str | None = None
    """What the watermark waits for, if that has been silent for long."""
    calls: Mapping[str, Mapping[str, float]] = field(default_factory=dict)
    """The seconds that callbacks of each processor took in all tasks together."""
    samples: tuple[Sample, ...] = ()
    """A few panes, late rows and rejected records."""

    @property
    def ended(self) -> float:
        return self.started + self.seconds


@dataclass(frozen=True)
class Progress:
    """The progress of a job, counted from its start or last resume."""

    state: State
    """Starting, running or stopping; at its end stopped, finished or failed."""
    batches: int
    """Batches that have ended, those without rows too."""
    rows: int
    """Rows read from the sources."""
    rows_per_second: float
    """Over the last half minute, or the last five batches; it falls while no rows arrive."""
    last_batch_seconds: float | None
    """None before the first batch has ended."""
    watermark: datetime | None
    """None without groupings; the least and the greatest datetime mean the ends of time."""
    watermark_lag: timedelta | None
    """How far the watermark is behind the clock; None without one, or at an end of time."""
    state_rows: int
    """Live panes, and elements that are kept."""
    state_bytes: int
    """Their size, as stored."""
    splits: tuple[Split, ...]
    """The splits of the sources, the farthest behind first: twenty for each grouping at most."""
    waiting: str | None
    """What the watermark waits for, if that has been silent for long."""
    late_by_step: Mapping[str, int]
    """Late rows for each grouping."""
    rejected_by_step: Mapping[str, int]
    """Rejected rows for each step."""
    lost_by_step: Mapping[str, int]
    """Records that were removed before they were read, for each source."""
    ahead_by_step: Mapping[str, int]
    """Rows for each step whose time was too far ahead of the clock to move the watermark."""
    written: Mapping[str, int]
    """Rows for each sink."""
    recent_rows: tuple[int, ...]
    """Rows of each of the last batches, the newest at the end."""
    steps: tuple[StepProgress, ...]
    """The steps of the program, each after its inputs."""
    error: str | None = None
    """What ended a job that has failed."""
    restarts: int = 0
    """How often the query was restarted, after a process that it needs had died."""

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
        """Records that were removed before a source with ``on_data_loss="continue"`` read them."""
        return sum(self.lost_by_step.values())

    @property
    def ahead(self) -> int:
        """Rows whose time was too far ahead of the clock to move the watermark."""
        return sum(self.ahead_by_step.values())

    @property
    def over(self) -> bool:
        """Whether the job has ended, with or without an error."""
        return self.state in ENDS

    def to_dict(self) -> dict[str, Any]:
        """The progress as a dict, which can be written as JSON."""
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
            "steps": [each.to_dict() for each in self.steps],
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
        slow = [each for each in self.steps if each.callback_seconds >= _SLOW]
        parts += [f"{s.callback} of {s.id!r} {s.callback_seconds:.1f} s a batch" for s in slow]
        error = f" ({self.error.splitlines()[0]})" if self.error else ""
        return f"{self.state}{error}: {', '.join(parts)}"


def moment(watermark: int | None) -> datetime | None:
    """A watermark as a datetime; the least and the greatest mean the ends of time."""
    if watermark is None:
        return None
    if START_OF_TIME < watermark < END_OF_TIME:
        try:
            return EPOCH + timedelta(microseconds=watermark)
        except OverflowError:  # beyond the years that a datetime knows
            pass
    return AFTER_ALL if watermark > 0 else BEFORE_ALL


def size_in_words(progress: Progress) -> str:
    """The size of the state."""
    from rich.filesize import decimal  # imported only when it is shown

    return f"{counted(progress.state_rows, 'row')} ({decimal(progress.state_bytes)})"


def watermark_in_words(progress: Progress) -> str:
    """The distance of the watermark from the clock."""
    lag = progress.watermark_lag
    if lag is None:
        return "at the end" if progress.watermark == AFTER_ALL else "waiting for event times"
    if abs(lag) < timedelta(seconds=1):
        return "up to the clock"
    return f"{length_in_words(abs(lag))} {'behind' if lag > timedelta() else 'ahead'}"
