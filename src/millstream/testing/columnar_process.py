"""Drives a processor on the columnar engine as an interpreter does: rows in, rows out."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
import pyarrow as pa

from millstream.engine.operator import LATE, REJECTED, ROWS, in_order
from millstream.engine.rows import from_arrow, to_python
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.engine.types import arrow_type
from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.physical.operators.process import ProcessSpec
from millstream.plan.operators.process import Process
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import Output
from millstream.reference.rows import Row, late_row
from millstream.testing.late_elements import late_elements

SHARDS = 2


class ColumnarProcess:
    """A processor on the columnar engine, in two shards whose state is in memory."""

    def __init__(self, node: Process) -> None:
        self.node = node
        (self._port,) = node.ports
        self._keyed = Keyed(node, self._port)
        self._spec = ProcessSpec(
            name=node.name,
            keys={self._port.name: node.processing.keys},
            tags=frozenset(node.tags),
            feeds_operators=True,
            origins={},
            processing=node.processing,
        )
        self._states = [ShardState(InMemoryStore()) for _ in range(SHARDS)]
        fields = [(f.name, arrow_type(str(f.type))) for f in node.input.schema]
        self._row = pa.schema(fields)
        self._keys = pa.schema(
            [(f"key {i}", arrow_type(str(key.type))) for i, (_, key) in enumerate(node.keys)]
        )

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """One step, as the reference takes it."""
        with in_step(self.node.name):
            exchange, given = self._spec.exchange(self._port.name, SHARDS), rows[self._port.name]
            arrivals = [*exchange.take(self._batch(given)), *exchange.rest()] if given else []
            tagged: dict[str, list[Row]] = {tag: [] for tag in (ROWS, *self.node.tags)}
            reached = []
            for number, state in enumerate(self._states):
                shard = Shard(self._spec.operator, state.of(self.node.name))
                mine = [arrival for to, arrival in arrivals if to == number]
                outputs = shard.step(mine, watermark, now)
                ordered = in_order(outputs[ROWS], self._spec.operator.order)
                outputs[ROWS] = [] if ordered is None else [ordered]
                for tag, tables in outputs.items():
                    for table in tables:
                        tagged[tag] += self._rows(tag, table)
                reached.append(shard.clocks.output_watermark)
        rejected = [(r.values["reason"], r.values["record"]) for r in tagged.pop(REJECTED)]
        for row in tagged[ROWS] if self.node.retracts else ():
            assert row.kind == row.values["kind"]
        return Output(tagged, min(reached), rejected)

    def close(self) -> None:
        """Nothing is held open."""

    def _rows(self, tag: str, table: pl.DataFrame) -> list[Row]:
        if tag == LATE:
            return [late_row(late) for late in late_elements(table, self.node, self._row)]
        return to_python(self._spec.rows(tag, table))

    def _batch(self, rows: list[Row]) -> pl.DataFrame:
        values = from_arrow(pa.Table.from_pylist([row.values for row in rows], self._row))
        keys = [self._keyed.key(row.values) for row in rows]
        columns = {
            name: pl.Series(pl.from_arrow(pa.array([key[i] for key in keys], kind)))
            for i, (name, kind) in enumerate(zip(self._keys.names, self._keys.types, strict=True))
        }
        table = pl.DataFrame(
            {
                "time": [START_OF_TIME + 1 if r.time is None else r.time for r in rows],
                "sign": [1 if row.kind == "+" else -1 for row in rows],
                "origin": [row.place[0] for row in rows],
                "split": [""] * len(rows),
                "offset": [row.place[1] for row in rows],
            },
            schema={
                "time": pl.Int64,
                "sign": pl.Int64,
                "origin": pl.String,
                "split": pl.String,
                "offset": pl.Int64,
            },
        )
        return table.with_columns(row=values.to_struct(), **columns)
