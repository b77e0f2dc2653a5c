"""What the tasks of a batch report: receipts, which are committed, and counts, which add up."""

from __future__ import annotations

import json
import time
from collections import defaultdict
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from pyspark.sql import Row

from millstream.plan.nodes import Sink
from millstream.reports.progress import BatchReport
from millstream.reports.samples import Sample
from millstream.reports.tracker import Tracker
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.kinds import sinks_of
from millstream.sinks.memory import MemoryCommitter
from millstream.sinks.whole_table import TableCommitter
from millstream.spark.batches.commits import Commits
from millstream.spark.driver.shard_progress import ShardProgress
from millstream.spark.driver.time_warnings import TimeWarnings
from millstream.spark.worker.envelopes import CALL

_COUNTS = ("late", "rejected", "read", "ahead", "unit", "in", "out")
"""What tasks count of the rows of a step in a batch."""


@dataclass
class Ledger:
    """The program's side of the sinks: commits batches, and reports the job's progress.

    Of a job that is committed ``elsewhere``, it only shows what is to be shown here.
    """

    run: str
    sinks: tuple[Sink, ...]
    tracker: Tracker
    elsewhere: bool = False
    fence: Fence = NO_FENCE
    checkpoint: str | None = None
    _commits: Commits = field(init=False)
    shards: ShardProgress = field(default_factory=ShardProgress)
    _warnings: TimeWarnings = field(init=False, default_factory=TimeWarnings)

    def __post_init__(self) -> None:
        sinks = sinks_of(self.sinks)
        for number, sink in enumerate(sinks):
            sink.check_beside(sinks[:number])
        mine = {s.name: s.target for s in sinks if s.shown or not self.elsewhere}
        self._commits = Commits(self.run, mine, self.fence, self.checkpoint)
        if self.shards.values:
            self.tracker.resume(BatchReport(-1, 0, 0, 0, **self._now()))

    def settle(
        self,
        batch: int,
        rows: list[Row],
        started: float,
        lost: Mapping[str, int] | None = None,
        ended: float | None = None,
    ) -> None:
        """Commits a batch that all tasks have written, and reports it."""
        processed = time.time() if ended is None else ended
        self._commits.commit(batch, rows)
        committed = time.time() if ended is None else ended
        written: dict[str, int] = {sink.name: 0 for sink in self.sinks}
        counts: dict[str, dict[str, int]] = defaultdict(lambda: defaultdict(int))
        calls: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
        samples: list[Sample] = []
        for row in rows:
            if row.kind == "receipt":
                written[row.node] += row.elements
            elif row.kind == "count" and row.split in _COUNTS:
                counts[row.split][row.node] += row.value
            elif row.kind == "count" and row.split.startswith(CALL):
                calls[row.node][row.split.removeprefix(CALL)] += row.value / 1_000_000
            elif row.kind in ("count", "splits"):
                self.shards.take(row)
            elif row.kind == "sample":
                samples += (Sample(row.node, row.split, each) for each in json.loads(row.payload))
        self._warnings.of(rows, started)
        waiting = self._warnings.of_splits(self.shards.splits(), started)
        self.tracker.report(
            BatchReport(
                batch=batch,
                started=started,
                seconds=(time.time() if ended is None else ended) - started,
                rows=sum(counts["read"].values()),
                written=written,
                late=dict(counts["late"]),
                rejected=dict(counts["rejected"]),
                lost=lost or {},
                ahead=dict(counts["ahead"]),
                read=dict(counts["read"]),
                taken=dict(counts["in"]),
                emitted=dict(counts["out"]),
                phases={"process": processed - started, "commit": committed - processed},
                waiting=waiting,
                calls={step: dict(seconds) for step, seconds in calls.items()},
                samples=tuple(samples),
                **self._now(),
            )
        )

    def rows(self, sink: str) -> list[dict[str, Any]]:
        """What a sink that keeps its rows has kept."""
        committer = self._commits.committers[sink]
        assert isinstance(committer, MemoryCommitter | TableCommitter)
        return committer.rows()

    def _now(self) -> dict[str, Any]:
        shards = self.shards
        return {
            "watermark": min(shards.of("watermark"), default=None),
            "state_rows": sum(shards.of("state_rows")),
            "state_bytes": sum(shards.of("state_bytes")),
            "splits": shards.splits(),
            "watermarks": {n: min(v.values()) for n, v in shards.by_operator("watermark")},
            "state": shards.state(),
        }
