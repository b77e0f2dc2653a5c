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
from millstream.spark.worker.tasks.task import RejectingTask

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class Decode(RejectingTask):
    """Makes columns of the values of records; records that cannot be decoded are rejected."""

    source: KafkaSource
    schema: pa.Schema

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        columns, why = decoded(rows["value"].to_list(), self.source.format, self.schema)
        made = columns.hstack(rows.select(*self.source.metadata, *hidden_in(rows)))
        if why:
            bad = sorted(why)
            describe = run.describe or (lambda place: self._described(rows.row(place, named=True)))
            records = [record_text(describe(place)) for place in bad]
            lines = rejected_rows(self.step, [why[place] for place in bad], records)
            run.reject(self.step, lines, self.rejected)
            made = made[[place for place in range(made.height) if place not in why]]
        self.give(made, run)

    def _described(self, record: dict[str, Any]) -> dict[str, Any]:
        """Where a record is, and what it contains."""
        (topic, *_) = [record["topic"]] if "topic" in record else self.source.topics
        place = {name: record[name] for name in ("partition", "offset", "timestamp")}
        return {"topic": topic, **place, **{n: as_text(record[n]) for n in ("key", "value")}}


def as_text(content: bytes | None) -> str | bytes | None:
    """Bytes as text, if they are UTF-8."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return content
