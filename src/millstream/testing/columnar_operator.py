"""Drives an operator on the columnar engine as an interpreter does: rows in, rows out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.operator import REJECTED, ROWS, in_order
from millstream.engine.rows import from_arrow, to_python
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.engine.types import arrow_type
from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.physical.operators import kind_of
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import Port, Stateful
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import Output
from millstream.reference.rows import Row

SHARDS = 2


class ColumnarOperator:
    """An operator on the columnar engine, in two shards whose state is in memory.

    It runs as workers run it: what is sent, kept and emitted is as on Spark.
    """

    def __init__(self, node: Stateful) -> None:
        self.node = node
        kind = kind_of(node)
        self.spec = kind(
            name=node.name,
            keys={port.name: tuple(name for name, _ in port.keys) for port in node.ports},
            tags=frozenset(node.tags),
            feeds_operators=True,
            origins={},
            **kind.settings(node),
        )
        self._inputs = {port.name: _PortInput(node, port) for port in node.ports}
        self.stores = [InMemoryStore() for _ in range(SHARDS)]
        self.states = [ShardState(store) for store in self.stores]

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """One step, as the reference takes it."""
        with in_step(self.node.name):
            arrivals = []
            for name, input in self._inputs.items():
                exchange = self.spec.exchange(name, SHARDS)
                if rows[name]:
                    arrivals += [*exchange.take(input.batch(rows[name])), *exchange.rest()]
            tagged: dict[str, list[Row]] = {tag: [] for tag in (ROWS, *self.node.tags)}
            reached = []
            for number, state in enumerate(self.states):
                shard = Shard(self.spec.operator, state.of(self.node.name))
                mine = [arrival for to, arrival in arrivals if to == number]
                outputs = shard.step(mine, watermark, now)
                ordered = in_order(outputs[ROWS], self.spec.operator.order)
                outputs[ROWS] = [] if ordered is None else [ordered]
                for tag, tables in outputs.items():
                    for table in tables:
                        tagged[tag] += self.rows(tag, table)
                reached.append(shard.clocks.output_watermark)
        for row in tagged[ROWS] if self.node.retracts else ():
            assert row.kind == row.values["kind"]
        rejected = [(r.values["reason"], r.values["record"]) for r in tagged.pop(REJECTED, [])]
        return Output(tagged, min(reached), rejected)

    def rows(self, tag: str, table: pl.DataFrame) -> list[Row]:
        """What it emits under a tag, row by row."""
        rows = self.spec.rows(tag, table)
        if tag == ROWS and self.node.schema.find("kind") is None:
            rows = rows.drop("kind", strict=False)
        return to_python(rows)

    def close(self) -> None:
        """Nothing is held open."""


class _PortInput:
    """What is computed of the rows of a port before they are sent."""

    def __init__(self, node: Stateful, port: Port) -> None:
        self._keyed = Keyed(node, port)
        self._kind = kind_column(port.input)
        self._whole = kind_of(node).whole(node, port.name, node.tags)
        self._row = pa.schema([(f.name, arrow_type(str(f.type))) for f in port.input.schema])
        self._types = {n: arrow_type(str(e.type)) for n, e in node.computed(port).items()}
        self._keys = [f"key {i}" for i in range(len(port.keys))]

    def batch(self, rows: list[Row]) -> pl.DataFrame:
        """The rows as a table of the engine."""
        given = [row.values for row in rows]
        added = given if self._kind is None else [{**v, self._kind: "+"} for v in given]
        keys = [self._keyed.key(values) for values in added]
        found: dict[str, list[Any]] = {n: [k[i] for k in keys] for i, n in enumerate(self._keys)}
        for name, compute in self._keyed.values.items():
            if name not in found:
                found[name] = [compute(values) for values in added]
        columns = {
            name: pl.Series(pl.from_arrow(pa.array(values, self._types[name])))
            for name, values in found.items()
        }
        for name in self._whole:
            whole = given if name == "row" else added
            columns[name] = from_arrow(pa.Table.from_pylist(whole, self._row)).to_struct()
        table = pl.DataFrame(
            {
                "time": [START_OF_TIME + 1 if r.time is None else r.time for r in rows],
                "sign": [1 if row.kind == "+" else -1 for row in rows],
                "origin": [row.place[0] for row in rows],
                "split": [""] * len(rows),
                "offset": [row.place[1] for row in rows],
            },
            schema_overrides={"time": pl.Int64, "sign": pl.Int64, "offset": pl.Int64},
        )
        return table.with_columns(**columns)
