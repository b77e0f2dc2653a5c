"""The rows of sinks: sent to the last stage, and written there."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from millstream.engine.rows import from_arrow, to_arrow
from millstream.engine.state.blobs import packed
from millstream.plan.targets import Target
from millstream.sinks.kinds import sink_of
from millstream.sinks.protocol import Writer
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.tasks.task import MOST_ROWS, Task

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class ToSink(Task):
    """Sends rows to the last stage, which writes the sink."""

    schema: pa.Schema

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        for part in rows.iter_slices(MOST_ROWS):
            table = from_arrow(to_arrow(part, self.schema))
            origin = run.next_origin()
            run.output.send(
                Envelope(
                    run.home(),
                    self.step,
                    "sink",
                    elements=part.height,
                    split=origin,
                    payload=packed(table),
                )
            )


@dataclass(kw_only=True)
class Write(Task):
    """Writes the rows of a sink, in the last stage."""

    target: Target
    schema: pa.Schema

    def begin(self, run: StageRun) -> None:
        self._writer: Writer | None = None
        self._rows = 0

    def expect(self, run: StageRun) -> None:
        sink_of(self.step, self.target).expect(run.slice)

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        if self._writer is None:
            self._writer = sink_of(self.step, self.target).writer(run.slice)
        self._writer.write(to_arrow(rows, self.schema))
        self._rows += rows.height

    def end(self, run: StageRun) -> None:
        if self._writer is not None:
            receipt = self._writer.close()
            run.output.send(Envelope(0, self.step, "receipt", elements=self._rows, payload=receipt))

    def abort(self) -> None:
        if self._writer is not None:
            self._writer.abort()
