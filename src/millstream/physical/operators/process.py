"""A processor as workers run it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.engine.exchange.by_key import ByKey
from millstream.engine.operator import LATE, REJECTED, ROWS
from millstream.engine.process.operator import Process
from millstream.engine.rows import emitted_rows, late_rows
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.plan.build.grouping import REASON
from millstream.plan.build.steps import REJECTED as REJECTED_COLUMNS
from millstream.plan.operators import process as plan
from millstream.plan.operators.windowed import WINDOW
from millstream.plan.types.schema import Schema
from millstream.reference.call_times import CallTimes


@dataclass(frozen=True, kw_only=True)
class ProcessSpec(OperatorSpec[Process]):
    """A processor, with its state and timers."""

    processing: plan.Processing

    @classmethod
    def settings(cls, node: plan.Process) -> dict[str, Any]:
        return {"processing": node.processing}

    @classmethod
    def output_schema(cls, node: plan.Process, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        if tag == ROWS:
            return node.schema
        if tag == REJECTED:
            return REJECTED_COLUMNS
        if tag == LATE:
            (types,) = ports.values()
            return Schema((*types.rows, WINDOW, REASON))
        return node.processing.outputs[tag]

    @classmethod
    def whole(cls, node: plan.Process, port: str, tags: Container[str]) -> tuple[str, ...]:
        return ("row",)

    @property
    def call_times(self) -> CallTimes:
        return self.operator.call_times

    def made(self) -> Process:
        return Process(self.processing, self.engine_keys)

    def exchange(self, port: str, shards: int) -> ByKey:
        """Rows as they are."""
        return ByKey(self.engine_keys, shards, port)

    @property
    def sends(self) -> str:
        """The rows."""
        return "each row"

    @property
    def holds(self) -> str:
        """What is kept of each key."""
        what = self.processing
        held = ["the state of each key"] if what.state is not None else []
        held += ["timers"] if what.timers else []
        held += ["rows that wait for their turn"] if what.order == "event_time" else []
        return ", ".join(held) or "nothing"

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """What callbacks emitted, or rows that were late or rejected."""
        if tag == LATE:
            return late_rows(table)
        if tag == REJECTED:
            return table
        rows = emitted_rows(table)
        if tag == ROWS and self.processing.retracts:
            kind = pl.when(table["sign"] < 0).then(pl.lit("-")).otherwise(pl.lit("+"))
            rows = rows.with_columns(kind=kind)
        return rows
