"""Errors of an expression that fails on a row: the same words wherever it runs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from typing import Any

from millstream.model.errors import RunError
from millstream.plan.branch import Branch
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Function,
    Node,
    Port,
    Rejected,
    Select,
    SideOutput,
    Sink,
    Source,
    Stateful,
    Union,
    WithColumns,
    unknown_kind,
)
from millstream.plan.records import shown
from millstream.plan.sql.expressions import Expression

_INSTEAD = {
    "ARITHMETIC_OVERFLOW": "try_add, try_subtract or try_multiply, or a wider type",
    "BINARY_ARITHMETIC_OVERFLOW": "try_add, try_subtract or try_multiply, or a wider type",
    "CANNOT_PARSE_TIMESTAMP": "try_to_timestamp or try_to_date",
    "CAST_INVALID_INPUT": "try_cast",
    "CAST_OVERFLOW": "try_cast",
    "DIVIDE_BY_ZERO": "try_divide",
    "INVALID_ARRAY_INDEX": "get(array, index)",
    "INVALID_ARRAY_INDEX_IN_ELEMENT_AT": "try_element_at",
    "INVALID_FORMAT": "try_to_number",
    "NUMERIC_VALUE_OUT_OF_RANGE": "try_cast",
    "REMAINDER_BY_ZERO": "try_mod",
}
"""What gives null where an expression would fail, by the conditions of Spark's errors."""


@dataclass(frozen=True)
class Sql:
    """An expression of a program, and where it is: in which step, and as what."""

    node: Node
    name: str
    place: str
    expression: Expression
    port: str = ""
    """The port of an operator whose rows it is computed of."""


def sql_of(node: Node) -> Iterator[Sql]:
    """All expressions of a step; those of an operator have the names of the engine."""
    match node:
        case Filter():
            yield Sql(node, "condition", "the condition", node.condition)
        case Branch():
            ((name, expression),) = node.columns
            yield Sql(node, name, "the branch", expression)
        case Select() | WithColumns():
            for name, expression in node.columns:
                yield Sql(node, name, f"column {name!r}", expression)
        case Stateful():
            for port in node.ports:
                yield from port_sql(node, port)
        case Source() | EventTime() | Function() | Union() | SideOutput() | Rejected() | Sink():
            return
        case _:
            raise unknown_kind(node)


def port_sql(node: Stateful, port: Port) -> Iterator[Sql]:
    """The expressions that an operator computes of the rows of a port."""
    for each in node.computing(port):
        if isinstance(each.value, Expression):
            yield Sql(node, each.name, each.place, each.value, port.name)


class SqlError(Exception):
    """An expression cannot be computed of a row. ``condition`` is what Spark calls this."""

    def __init__(self, condition: str, why: str, part: str | None = None) -> None:
        super().__init__(why)
        self.condition = condition
        self.why = why
        self.part = part


def sql_failure(sql: Sql, error: SqlError, record: Mapping[str, Any] | None = None) -> RunError:
    """The error of a program in which an expression failed on a row.

    >>> from millstream.plan.types.schema import Schema
    >>> n = Expression("10 / n", "DOUBLE", frozenset({"n"}))
    >>> rows = Node("rows-1", Schema.of("n int"))
    >>> step = Filter("filter-1", rows.schema, rows, n)
    >>> print(sql_failure(next(sql_of(step)), SqlError("DIVIDE_BY_ZERO", "Division by zero")))
    MS219 in step 'filter-1': the condition, 10 / n, cannot be computed: Division by zero
      What to do: use try_divide, which gives null, or write on_error="reject" to send such rows to .rejected
      More: millstream help MS219
    """  # noqa: E501 - as the message is
    part = f" at {error.part}" if error.part and error.part != sql.expression.text else ""
    on = "" if record is None else f" for the record {shown(record)}"
    return RunError(
        "MS219",
        f"{sql_reason(sql)}{on}{part}: {error.why}",
        fix=_fix(error, sql.node),
        step=sql.node.name,
    )


def sql_reason(sql: Sql) -> str:
    """Why a row is rejected. Spark does not report what failed, so no engine does."""
    return f"{sql.place}, {sql.expression.text}, cannot be computed"


def sql_failure_somewhere(candidates: list[Sql], error: SqlError) -> RunError:
    """The same where Spark does not report which of several expressions it was."""
    texts = ", ".join(f"{s.expression.text} in {s.node.name!r}" for s in candidates[:5])
    more = f" and {len(candidates) - 5} more" if len(candidates) > 5 else ""
    return RunError(
        "MS219",
        f"one of these expressions cannot be computed: {texts}{more}: {error.why}",
        fix=_fix(error, candidates[0].node),
    )


def _fix(error: SqlError, node: Node) -> str:
    instead = _INSTEAD.get(error.condition.partition(".")[0])
    first = f"use {instead}, which gives null" if instead else "write one that cannot fail"
    if isinstance(node, Stateful):
        first += ", or compute it before in with_columns(…, on_error='reject')"
        return f"{first} to send such rows to .rejected"
    return f'{first}, or write on_error="reject" to send such rows to .rejected'
