"""A cogroup, and a join in windows, as workers run them: a grouping that collects each port."""

from __future__ import annotations

from collections.abc import Container, Iterator, Mapping
from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import polars as pl

from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.elements import Gathered
from millstream.engine.grouping.operator import Grouping, sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import LATE, ROWS
from millstream.engine.pairs import LEFT, RIGHT, Holds, paired
from millstream.engine.python_rows import python_rows
from millstream.engine.rows import SIGN, TIME, late_rows, pane_rows
from millstream.engine.state.arrivals import Arrival
from millstream.model.aggregates import Collect
from millstream.model.refinements import retracting
from millstream.model.windowing import Windowing
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.plan.build.grouping import REASON
from millstream.plan.lineage import kind_column, taking_back
from millstream.plan.nodes import Node
from millstream.plan.operators import cogroup as plan
from millstream.plan.operators.windowed import window_field
from millstream.plan.types.result_types import struct_type
from millstream.plan.types.schema import Field, Schema
from millstream.reference.operators.cogroup import condition_of


@dataclass(frozen=True, kw_only=True)
class CogroupSpec(OperatorSpec[Grouping]):
    """In the engine, the rows of the ports are ``of 0``, ``of 1`` and so on, and a batch of one
    port has nothing in the columns of the others; ``value 0`` is the list of the first port's.
    """

    windowing: Windowing
    takes_retractions: bool
    kinds: dict[str, str | None]
    """The column that marks retractions, by port."""

    @classmethod
    def settings(cls, node: plan.Cogroup) -> dict[str, Any]:
        return {
            "windowing": node.windowing,
            "takes_retractions": any(taking_back(port.input) for port in node.ports),
            "kinds": {port.name: kind_column(port.input) for port in node.ports},
        }

    @classmethod
    def output_schema(cls, node: plan.Cogroup, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        rows = {name: struct_type(types.rows) for name, types in ports.items()}
        if tag == LATE:
            fields = (Field(name, type) for name, type in rows.items())
            return Schema((*fields, window_field(node.windowing), REASON))
        keys = _key_types(node, ports)
        found = keys | {name: f"ARRAY<{type}>" for name, type in rows.items()}
        return Schema(tuple(Field(f.name, f.type or found[f.name]) for f in node.schema))

    @classmethod
    def whole(cls, node: plan.Cogroup, port: str, tags: Container[str]) -> tuple[str, ...]:
        return (_of(node, port),)

    @property
    def ports(self) -> list[str]:
        return list(self.keys)

    def made(self) -> Grouping:
        listed = [
            Aggregated(f"value {i}", self.collected, f"of {i}") for i in range(len(self.ports))
        ]
        keeps_late = LATE in self.tags
        return sharded(self.windowing, self.engine_keys, listed, self.takes_retractions, keeps_late)

    @property
    def collected(self) -> Collect:
        """The rows of a port, in the order of their times."""
        return Collect()

    def exchange(self, port: str, shards: int) -> Scatter:
        """Rows as they are, beside nothing of the other ports."""
        return _PortScatter(self, port, shards)

    def sent(self, port: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a port as they are sent."""
        number = self.ports.index(port)
        others = (f"of {i}" for i in range(len(self.ports)) if i != number)
        return rows.with_columns(pl.lit(None).alias(name) for name in others)

    @property
    def sends(self) -> str:
        """The rows."""
        return "each row"

    @property
    def holds(self) -> str:
        """Panes, and their rows."""
        kept = "a row for each key and window, the rows of all ports"
        return f"{kept}, what was emitted" if self.windowing.refine is retracting else kept

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """Panes, or rows that were late, each under its port."""
        if tag == ROWS:
            return pane_rows(table, list(self.keys[self.ports[0]]), self.ports)
        return late_rows(self.with_row(table))

    def with_row(self, late: pl.DataFrame) -> pl.DataFrame:
        """Late rows, in the column ``row``: under their port, and nothing under the others."""
        columns = [self._late(i, name, late).alias(name) for i, name in enumerate(self.ports)]
        return late.with_columns(row=pl.struct(columns))

    def _late(self, number: int, port: str, table: pl.DataFrame) -> pl.Expr:
        """The late rows of a port; a retraction is marked as one."""
        name, kind = f"of {number}", self.kinds[port]
        if kind is None or table.schema[name] == pl.Null:
            return pl.col(name)
        marked = pl.when(pl.col("sign") < 0).then(pl.lit("-")).otherwise(pl.field(kind))
        return pl.col(name).struct.with_fields(marked.alias(kind))


class _PortScatter(Scatter):
    """Sends the rows of one port."""

    def __init__(self, spec: CogroupSpec, port: str, shards: int) -> None:
        super().__init__(spec.operator, spec.engine_keys, shards)
        self._spec = spec
        self._port = port

    def take(self, batch: pl.DataFrame) -> Iterator[tuple[int, Arrival]]:
        return super().take(self._spec.sent(self._port, batch))


@dataclass(frozen=True, kw_only=True)
class WindowJoinSpec(CogroupSpec):
    """Makes pairs of the lists of each pane, after the shuffle."""

    node: plan.WindowJoin
    """Without the steps before it: workers need no more of the plan."""

    @classmethod
    def settings(cls, node: plan.Cogroup) -> dict[str, Any]:
        assert isinstance(node, plan.WindowJoin)
        condition_of(node)  # what cannot be computed is refused before the job starts
        return {**super().settings(node), "node": _bare(node)}

    @classmethod
    def output_schema(cls, node: plan.Cogroup, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        if tag == LATE:
            return super().output_schema(node, tag, ports)
        assert isinstance(node, plan.WindowJoin)
        found = _key_types(node, ports)
        for port, columns in (("left", node.columns.left), ("right", node.columns.right)):
            found |= {f.name: ports[port].rows.resolve(name).type for name, f in columns}
        return Schema(tuple(Field(f.name, f.type or found[f.name]) for f in node.schema))

    @property
    def collected(self) -> Collect:
        """Pairs are in no order. But lists are compared if panes are taken back."""
        return Collect() if self.windowing.refine is retracting else Gathered()

    def sent(self, port: str, rows: pl.DataFrame) -> pl.DataFrame:
        """The rows of a port, without columns that nothing reads."""
        if LATE not in self.tags:
            name = f"of {self.ports.index(port)}"
            kept = [column for column, _ in self._columns(port)]
            fields = [pl.col(name).struct.field(column) for column in kept]
            one = [pl.lit(True).alias("row")]  # a struct has at least one field
            rows = rows.with_columns(pl.struct(fields or one).alias(name))
        return super().sent(port, rows)

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """The pairs of panes, or rows that were late."""
        if tag == LATE:
            return super().rows(tag, table)
        node = self.node
        lists = table.select(LEFT, RIGHT)
        panes = pane_rows(table, self.engine_keys, []).hstack(lists)
        met = paired(panes, self.engine_keys, node.join, self._condition)
        left = {field.name: _field(met, LEFT, name) for name, field in node.columns.left}
        right = {field.name: _field(met, RIGHT, name) for name, field in node.columns.right}
        keys = {f.name: pl.col(f"key {i}") for i, f in enumerate(node.columns.keys)}
        made = {**keys, **left, **right}
        names = [f.name for f in node.columns.fields(node.join)]
        own = [f.name for f in node.own_columns]
        return met.select(*(made[n].alias(n) for n in names), *own, TIME, SIGN)

    def _columns(self, port: str) -> tuple[tuple[str, Field], ...]:
        return self.node.columns.left if port == "left" else self.node.columns.right

    @cached_property
    def _condition(self) -> Holds | None:
        """The further condition, computed of one pair at a time."""
        node = self.node
        if node.condition is None:
            return None
        compute = condition_of(node)

        def holds(pairs: pl.DataFrame) -> pl.Series:
            keys = [pl.col(f"key {i}").alias(f.name) for i, f in enumerate(node.columns.keys)]
            left = [_field(pairs, LEFT, name).alias(f.name) for name, f in node.columns.left]
            right = [_field(pairs, RIGHT, name).alias(f.name) for name, f in node.columns.right]
            rows = python_rows(pairs.select(*keys, *left, *right).to_arrow())
            return pl.Series([compute(row) for row in rows], dtype=pl.Boolean)

        return holds

    def __getstate__(self) -> dict[str, Any]:
        return {k: v for k, v in super().__getstate__().items() if k != "_condition"}


def _of(node: plan.Cogroup, port: str) -> str:
    return f"of {[each.name for each in node.ports].index(port)}"


def _key_types(node: plan.Cogroup, ports: Mapping[str, PortTypes]) -> dict[str, str | None]:
    """The types of the keys, which are those of the first port."""
    first = node.ports[0]
    computed = ports[first.name].computed
    return {name: computed[f"key {i}"] for i, (name, _) in enumerate(first.keys)}


def _bare(node: plan.WindowJoin) -> plan.WindowJoin:
    ports = tuple(replace(p, input=Node("", p.input.schema), keys=()) for p in node.ports)
    return replace(node, ports=ports)


def _field(rows: pl.DataFrame, struct: str, name: str) -> pl.Expr:
    """A column of the rows in a struct; nothing where there are no such rows."""
    if rows.schema[struct] == pl.Null:
        return pl.col(struct)
    return pl.col(struct).struct.field(name)
