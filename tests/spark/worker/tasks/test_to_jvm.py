"""Rows are put into their columns of the wide frame that the JVM gets."""

from __future__ import annotations

from types import SimpleNamespace

import polars as pl
import pyarrow as pa

from millstream.engine.rows import SPLIT, with_time
from millstream.spark.worker.output import Output
from millstream.spark.worker.step_columns import StepColumns
from millstream.spark.worker.tasks.to_jvm import ToJvm


def test_columns_of_other_steps_are_null_and_each_row_has_its_split():
    fields = [("c", pa.int64()), ("f", pa.bool_()), ("t", pa.int64()), ("g", pa.int8())]
    schema = pa.schema([*fields, ("other", pa.string()), (SPLIT, pa.string())])
    run = SimpleNamespace(stage=SimpleNamespace(schema=schema), output=Output(schema), split="x")
    task = ToJvm(step="map", columns=StepColumns({"n": "c"}, "f", "t", "g"))
    task.take(with_time(pl.DataFrame({"n": [1, 2]}), time=pl.lit(7)), run)
    table = pa.Table.from_batches(run.output.batches())
    assert table.to_pylist() == [
        {"c": n, "f": True, "t": 7, "g": 1, "other": None, SPLIT: "x"} for n in (1, 2)
    ]
