"""Sends rows to the shards of an operator: the last task before a shuffle."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa

from millstream.engine.rows import PLACE, SIGN, TIME, from_arrow, to_python
from millstream.engine.state.arrivals import Arrival
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.physical.operators.spec import InputSpec, OperatorSpec
from millstream.plan.build.functions import function_name
from millstream.plan.nodes import KeyFunction
from millstream.reference.functions import key_of
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.tasks.task import Task

if TYPE_CHECKING:
    from millstream.spark.worker.stage_run import StageRun


@dataclass(kw_only=True)
class ToShards(Task):
    """Cuts the rows into what each shard of an operator gets."""

    spec: OperatorSpec[Any]
    input: InputSpec
    labels: list[int]

    def begin(self, run: StageRun) -> None:
        self._exchange = self.spec.exchange(self.input.port, len(self.labels))

    def take(self, rows: pl.DataFrame, run: StageRun) -> None:
        run.counts.add(self.step, "in", rows.height)
        input = self.input
        given = rows
        if input.kind is not None and input.kind in rows.columns:
            # A retraction must equal the row that it takes back; only late rows stay as they are.
            as_added = pl.when(pl.col(SIGN) < 0).then(pl.lit("+")).otherwise(input.kind)
            rows = rows.with_columns(as_added.alias(input.kind))
        table = rows.select(
            *(pl.col(column).alias(name) for name, column in input.columns.items()),
            *(pl.struct(input.row).alias(name) for name in input.whole if name != "row"),
            pl.col(TIME).fill_null(START_OF_TIME + 1).alias("time"),
            pl.col(SIGN).cast(pl.Int64).alias("sign"),
        )
        if input.functions:
            values = [row.values for row in to_python(rows.select(*input.row, TIME, SIGN))]
            keys = {n: self._keys(key, kind, values) for n, (key, kind) in input.functions.items()}
            table = table.with_columns(**keys)
        if "row" in input.whole:
            table = table.hstack(given.select(row=pl.struct(input.row)))
        if input.ordered:
            table = table.hstack(rows.select(pl.col(PLACE).struct.unnest()))
        self._send(self._exchange.take(table), run)

    def _keys(self, key: KeyFunction, kind: pa.DataType, rows: list[Any]) -> pl.Series:
        keys = [key_of(self.step, key, row) for row in rows]
        try:
            return from_arrow(pa.table({"key": pa.array(keys, kind)}))["key"]
        except (pa.ArrowInvalid, pa.ArrowTypeError, OverflowError, UnicodeError) as error:
            name = function_name(key.function)
            raise RunError(
                "MS202",
                f"a result of the key function {name} is no {kind}: {error}",
                fix="say a type that Python has values of: key_by(…, type=…)",
                step=self.step,
            ) from error

    def end(self, run: StageRun) -> None:
        self._send(self._exchange.rest(), run)

    def _send(self, arrivals: Iterator[tuple[int, Arrival]], run: StageRun) -> None:
        for shard, arrival in arrivals:
            start, end = arrival.bucket or (None, None)
            run.output.send(
                Envelope(
                    self.labels[shard],
                    self.step,
                    "arrival",
                    start,
                    end,
                    arrival.rows,
                    run.next_origin(),
                    arrival.lane,
                    arrival.blob,
                    arrival.port,
                )
            )
