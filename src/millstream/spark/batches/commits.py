"""A batch that is written and committed: its sinks, one after another."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import replace

from pyspark.sql import DataFrame, Row

from millstream.model.errors import MillstreamError
from millstream.plan.targets import Target
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.kinds import sink_of
from millstream.sinks.protocol import Committer
from millstream.spark.worker.envelopes import ENVELOPE
from millstream.spark.worker.python_stage import PackedStage, PythonStage


class Stopped(Exception):  # noqa: N818 - it is no error
    """Raised where a batch would begin, once the job is to stop: that batch has done nothing."""


def written(last: PythonStage | None, frame: DataFrame, batch: int) -> list[Row]:
    """Runs the last Python stage of a batch, which writes the sinks; what the tasks report."""
    if last is not None:
        frame = frame.mapInArrow(PackedStage(replace(last, batch=batch)), ENVELOPE)
    rows: list[Row] = frame.collect()
    return rows


class Commits:
    """Commits what is written, sink by sink, as long as the job owns its checkpoint.

    A job that was overtaken commits nothing (MS351). The check comes before each sink, and once
    more where one fails: files that are missing may have been taken away by a successor.
    """

    def __init__(
        self,
        run: str,
        targets: Mapping[str, Target],
        fence: Fence = NO_FENCE,
        checkpoint: str | None = None,
    ) -> None:
        self._run = run
        self._fence = fence
        self.committers: dict[str, Committer] = {
            name: sink_of(name, target).committer(fence, checkpoint)
            for name, target in targets.items()
        }

    def commit(self, batch: int, rows: Iterable[Row]) -> None:
        """Commits a batch that all tasks have written."""
        receipts: dict[str, list[bytes]] = {name: [] for name in self.committers}
        for row in rows:
            if row.kind == "receipt" and row.node in receipts:
                receipts[row.node].append(bytes(row.payload))
        for name, committer in self.committers.items():
            self._fence.check()
            try:
                committer.commit(self._run, batch, receipts[name])
            except MillstreamError:
                self._fence.check()
                raise
