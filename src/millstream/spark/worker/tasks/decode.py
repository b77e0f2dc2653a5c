"""Decodes the values of Kafka records."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from millstream.engine.rows import hidden_in, rejected_rows
from millstream.plan.nodes import KafkaSource
from millstream.plan.records import record_text
from millstream.spark.sources.decoding import decoded
from millstream.spark.sources.kafka_records import as_text
from millstream.spark.worker.tasks.task import RejectingTask

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class Decode(RejectingTask):
    """Makes columns of the values of records; records that cannot be decoded are rejected."""

    source: KafkaSource
    schema: pa.Schema

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        # Where the records are read, their values need not become a column first.
        values = rows["value"].to_list() if run.records is None else run.records.values()
        columns, why = decoded(values, self.source.format, self.schema)
        made = columns.hstack(rows.select(*self.source.metadata, *hidden_in(rows)))
        if why:
            bad = sorted(why)
            records = [record_text(self._described(rows, place, run)) for place in bad]
            lines = rejected_rows(self.step, [why[place] for place in bad], records)
            run.reject(self.step, lines, self.rejected)
            made = made[[place for place in range(made.height) if place not in why]]
        self.give(made, run)

    def _described(self, rows: pl.DataFrame, place: int, run: StageRun) -> dict[str, Any]:
        """Where a record is, and what it contains."""
        if run.records is not None:
            return run.records.describe(place)
        record = rows.row(place, named=True)
        (topic, *_) = [record["topic"]] if "topic" in record else self.source.topics
        at = {name: record[name] for name in ("partition", "offset", "timestamp")}
        return {"topic": topic, **at, **{n: as_text(record[n]) for n in ("key", "value")}}
