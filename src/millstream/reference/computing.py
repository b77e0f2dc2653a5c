"""Expressions of a step, computed of one row at a time; what fails on a row is known by name."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from typing import Any

from millstream.model.errors import RunError
from millstream.plan.sql.failures import Sql, SqlError, sql_failure
from millstream.plan.types.schema import Schema
from millstream.reference.expressions import compiled

Compute = Callable[[Mapping[str, Any]], Any]


class FailedError(Exception):
    """An expression of a step failed on a row."""

    def __init__(self, sql: Sql, error: SqlError) -> None:
        super().__init__(sql, error)
        self.sql = sql
        self.error = error


def or_fail(compute: Compute) -> Compute:
    """The same with an error that the user is to see."""

    def computed(values: Mapping[str, Any]) -> Any:
        try:
            return compute(values)
        except FailedError as failed:
            raise sql_failure(failed.sql, failed.error, values) from None

    return computed


def computes(expressions: Iterable[Sql], schema: Schema) -> dict[str, Compute]:
    """The expressions by their names, to be computed of rows of that schema."""
    return {sql.name: _compute(sql, schema) for sql in expressions}


def _compute(sql: Sql, schema: Schema) -> Compute:
    if sql.expression.column is not None:
        raise RunError(
            "MS203",
            f"the reference cannot compute the PySpark Column {sql.expression.text}",
            fix="write it as Spark SQL text",
        )
    function = compiled(sql.expression.text, schema)

    def compute(values: Mapping[str, Any]) -> Any:
        try:
            return function(values)
        except SqlError as error:
            raise FailedError(sql, error) from None

    return compute
