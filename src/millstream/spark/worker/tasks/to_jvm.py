"""Hands rows to the next JVM stage."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import polars as pl
import pyarrow as pa

from millstream.engine.rows import PLACE, SIGN, SPLIT, TIME, to_arrow
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.task import MOST_ROWS, Task

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class ToJvm(Task):
    """Puts the rows into their columns of the wide frame that the JVM gets."""

    columns: StepColumns

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        to = self.columns
        names = {column: pl.col(name) for name, column in to.columns.items()}
        hidden = {to.time: pl.col(TIME), to.sign: pl.col(SIGN), to.flag: pl.lit(True)}
        hidden |= {to.place: pl.col(PLACE)}
        names |= {name: value for name, value in hidden.items() if name is not None}
        fields = run.stage.schema
        names |= {SPLIT: pl.lit(run.split)} if SPLIT in fields.names else {}
        table = rows.select(each.alias(name) for name, each in names.items())
        for part in table.iter_slices(MOST_ROWS):
            arrow = to_arrow(part, pa.schema([f for f in fields if f.name in names]))
            columns = [
                arrow.column(f.name).combine_chunks()
                if f.name in names
                else pa.nulls(part.height, f.type)
                for f in fields
            ]
            run.output.add(pa.Table.from_arrays(columns, schema=fields))
