"""Calls a user's function."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from millstream.engine.rows import fitting, from_python, rejected_rows, to_python
from millstream.plan.build.functions import function_name
from millstream.plan.nodes import Function
from millstream.plan.records import record_text
from millstream.reference.functions import apply
from millstream.spark.worker.tasks.task import RejectingTask

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class Call(RejectingTask):
    """Calls a user's function with each row; ``schema`` has the types of what it returns."""

    node: Function
    schema: pa.Schema

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        reasons: list[str] = []
        records: list[str] = []

        def reject(reason: str, record: Any) -> None:
            reasons.append(reason)
            records.append(record_text(record))

        made = apply(self.node, to_python(rows), reject)
        run.reject(self.step, rejected_rows(self.step, reasons, records), self.rejected)
        what = f"a result of {function_name(self.node.function)}"
        with fitting(what, self.node.schema, self.step):
            columns = from_python(made, self.schema)
        run.counts.add(self.step, "in", rows.height)
        run.counts.add(self.step, "out", columns.height)
        self.give(columns, run)
