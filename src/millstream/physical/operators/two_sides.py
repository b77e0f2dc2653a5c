"""What joins have in common as workers run them: whole rows of both sides, and pairs of them."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

import polars as pl

from millstream.engine.exchange.by_key import ByKey
from millstream.engine.joins.pair_condition import PairCondition
from millstream.engine.joins.sides import OTHER, VALUES
from millstream.engine.operator import LATE, Operator
from millstream.engine.rows import SIGN, TIME
from millstream.model.instants import START_OF_TIME
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.plan.lineage import taking_back
from millstream.plan.operators.two_sides import (
    LEFT,
    ONE_SIDED,
    REASON,
    RIGHT,
    SIDE,
    PairColumn,
    TwoSides,
    checked_types,
    pair_fields,
    shown_fields,
)
from millstream.plan.operators.windowed import KIND
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import Schema

_Made = TypeVar("_Made", bound=Operator, covariant=True)


@dataclass(frozen=True, kw_only=True)
class TwoSidesSpec(OperatorSpec[_Made]):
    """A join. In the engine, rows of either side are structs."""

    how: str
    columns: tuple[PairColumn, ...]
    retracts: bool
    marks_late: bool
    """Whether late rows have the column ``kind``."""

    @classmethod
    def settings(cls, node: TwoSides) -> dict[str, Any]:
        return {
            "how": node.how,
            "columns": node.columns,
            "retracts": node.retracts,
            "marks_late": any(map(taking_back, node.inputs)),
        }

    @classmethod
    def output_schema(cls, node: TwoSides, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        left, right = ports[LEFT], ports[RIGHT]
        keys = [f"key {i}" for i in range(len(node.ports[0].keys))]
        checked_types(node, (left.computed[k] for k in keys), (right.computed[k] for k in keys))
        if tag == LATE:
            marked = [KIND] if any(map(taking_back, node.inputs)) else []
            return Schema(
                (*pair_fields(node.columns, left.rows, right.rows), *marked, SIDE, REASON)
            )
        fields = shown_fields(node.columns, node.how, left.rows, right.rows)
        return Schema((*fields, *node.schema.fields[len(fields) :]))

    @classmethod
    def whole(cls, node: TwoSides, port: str, tags: Container[str]) -> tuple[str, ...]:
        return (VALUES,)

    def exchange(self, port: str, shards: int) -> ByKey:
        """Rows as they are."""
        return ByKey(self.engine_keys, shards, port)

    @property
    def sends(self) -> str:
        """The rows."""
        return "each row"

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """Pairs, or late rows of either side."""
        if tag != LATE:
            own = [_kind()] if self.retracts else []
            return _with_hidden(table, [*self._pairs(table, self._shown), *own])
        side = table["side"].first()
        if side == RIGHT:
            table = table.rename({VALUES: OTHER})
        own = [*([_kind()] if self.marks_late else []), pl.col("side"), _behind()]
        return _with_hidden(table, [*self._pairs(table, self.columns), *own])

    @property
    def _shown(self) -> list[PairColumn]:
        return [c for c in self.columns if c.left is not None or self.how not in ONE_SIDED]

    def _pairs(self, table: pl.DataFrame, columns: Iterable[PairColumn]) -> Iterable[pl.Expr]:
        there = {
            name: name in table.columns and table[name].dtype != pl.Null for name in (VALUES, OTHER)
        }
        for column in columns:
            sides = ((VALUES, column.left), (OTHER, column.right))
            found = [pl.col(s).struct.field(n) for s, n in sides if n is not None and there[s]]
            yield (pl.coalesce(found) if found else pl.lit(None)).alias(column.name)


def pair_condition(node: TwoSides, where: Expression | None) -> PairCondition | None:
    """The further condition of a join, if it has one."""
    if where is None:
        return None
    condition = PairCondition(node.name, where, node.pair_schema, node.columns)
    condition.compute  # noqa: B018 - what the reference cannot compute is refused here
    return condition


def _kind() -> pl.Expr:
    return pl.when(pl.col("sign") < 0).then(pl.lit("-")).otherwise(pl.lit("+")).alias("kind")


def _behind() -> pl.Expr:
    return pl.lit("behind").alias("reason")


def _with_hidden(table: pl.DataFrame, columns: Iterable[pl.Expr]) -> pl.DataFrame:
    time = pl.when(pl.col("time") > START_OF_TIME + 1).then("time").alias(TIME)
    return table.select(*columns, time, pl.col("sign").cast(pl.Int8).alias(SIGN))
