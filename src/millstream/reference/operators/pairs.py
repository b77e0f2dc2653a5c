"""Rows that joins emit: pairs of a left and a right row, either of which may be missing."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.model.errors import RunError
from millstream.plan.lineage import taking_back
from millstream.plan.nodes import Node
from millstream.plan.operators.two_sides import LEFT, TwoSides
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import Sql
from millstream.reference.computing import Compute, computes, or_fail
from millstream.reference.rows import Row


def pair(node: TwoSides, left: Row, right: Mapping[str, Any] | None) -> Row:
    """A left row with what it met, at its own time; null where it met nothing."""
    values = pair_values(node, left.values, right)
    if node.retracts:
        values["kind"] = left.kind
    return Row(values, left.time, left.kind)


def pair_values(
    node: TwoSides, left: Mapping[str, Any] | None, right: Mapping[str, Any] | None
) -> dict[str, Any]:
    """The columns of a pair."""
    values: dict[str, Any] = {}
    for column in node.columns:
        if left is not None and column.left is not None:
            values[column.name] = left[column.left]
        elif right is not None and column.right is not None:
            values[column.name] = right[column.right]
        else:
            values[column.name] = None
    return values


def pair_condition(node: TwoSides, where: Expression | None) -> Compute | None:
    """The further condition of a join, if it has one, of the columns of a pair."""
    if where is None:
        return None
    sql = Sql(Node(node.name, node.pair_schema), "where", "where=", where)
    return or_fail(computes([sql], node.pair_schema)["where"])


def late_side(node: TwoSides, row: Row, side: str, reason: str = "behind") -> Row:
    """A row that came too late, as the join emits it under ``late``."""
    sides = (row.values, None) if side == LEFT else (None, row.values)
    values = pair_values(node, *sides)
    if any(map(taking_back, node.inputs)):
        values["kind"] = row.kind
    return Row({**values, "side": side, "reason": reason}, row.time, row.kind)


def not_there(step: str) -> RunError:
    """The error of a row that is taken back and is not there."""
    return RunError(
        "MS233",
        "a row is taken back that did not arrive",
        fix="make the steps before the join give the same row for a row and its retraction: no "
        "rand(), no current time, no function that returns something else each time",
        step=step,
    )
