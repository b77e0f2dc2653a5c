"""A further condition of a join, computed of the pairs that meet in their keys."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from millstream.engine.joins.sides import VALUES
from millstream.engine.python_rows import python_columns
from millstream.engine.tables import looked_up
from millstream.plan.nodes import Node
from millstream.plan.operators.two_sides import PairColumn
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import Sql
from millstream.plan.types.schema import Schema
from millstream.reference.computing import Compute, computes, or_fail


@dataclass(frozen=True)
class PairCondition:
    """The condition of the join ``step`` over the columns of pairs.

    It is Spark SQL, and no Spark is where pairs are made: so the reference computes it, once for
    each combination of values of the columns that it reads.
    """

    step: str
    expression: Expression
    schema: Schema
    columns: tuple[PairColumn, ...]

    @cached_property
    def compute(self) -> Compute:
        """The condition of one pair."""
        sql = Sql(Node(self.step, self.schema), "where", "where=", self.expression)
        return or_fail(computes([sql], self.schema)["where"])

    def __call__(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.Series:
        """Whether it is true of each pair; null is not."""
        read = [c for c in self.columns if c.name.lower() in self._reads]
        if not read:
            return pl.Series([self.compute({}) is True]).new_from_index(0, left.height)
        values = pl.DataFrame(
            [
                left[VALUES].struct.field(c.left).alias(c.name)
                if c.left is not None
                else right[VALUES].struct.field(str(c.right)).alias(c.name)
                for c in read
            ]
        )
        names = values.columns
        known = values.unique(maintain_order=True)
        rows = zip(*python_columns(known), strict=True)
        true = [self.compute(dict(zip(names, row, strict=True))) is True for row in rows]
        known = known.with_columns(true=pl.Series(true, dtype=pl.Boolean))
        return looked_up(values, known, names)["true"]

    @property
    def _reads(self) -> Sequence[str]:
        return [name.lower() for name in self.expression.columns]

    def __getstate__(self) -> dict[str, object]:
        return {name: value for name, value in self.__dict__.items() if name != "compute"}
