"""Expressions of a user's program: Spark SQL text, read and typed while the plan is built."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from millstream.model.aggregates import Aggregate
from millstream.model.errors import PlanError
from millstream.plan.types.schema import Schema


@dataclass(frozen=True, slots=True)
class Expression:
    """A scalar expression over the columns of a row.

    ``text`` is canonical Spark SQL, ``type`` its Spark type where that can be inferred, ``columns``
    what it reads. A PySpark Column is kept as it is in ``column``, with nothing known about it.
    """

    text: str
    type: str | None
    columns: frozenset[str]
    column: Any = field(default=None, compare=False)

    def __str__(self) -> str:
        return self.text


def scalar(given: Any, schema: Schema) -> Expression:
    """The expression that is given, checked against the columns that there are.

    >>> scalar("points*2", Schema.of("user string, points int"))
    Expression(text='points * 2', type='INT', columns=frozenset({'points'}), column=None)
    """
    name, expression = named_scalar(given, schema)
    if name is not None:
        raise PlanError(
            "MS112",
            f"{given!r} has a name where none is expected",
            fix=f"write {expression.text!r}",
        )
    return expression


def named_scalars(
    given: tuple[Any, ...], named: Mapping[str, Any], schema: Schema
) -> Iterator[tuple[str, Expression]]:
    """Expressions with their names: a column has its own, others say ``… AS name``."""
    for each in given:
        name, expression = named_scalar(each, schema)
        yield name or _own_name(each, expression), expression
    for name, each in named.items():
        yield name, scalar(each, schema)


def named_scalar(given: Any, schema: Schema) -> tuple[str | None, Expression]:
    """The expression that is given, and its name if it says one: ``… AS name``."""
    if is_pyspark_column(given):
        return None, Expression(str(given), None, frozenset(), given)
    if not isinstance(given, str):
        raise _no_expression(given)
    # sqlglot costs most of an import of millstream: only programs with expressions pay it.
    from millstream.plan.sql.reading import read_expression

    name, text, type, columns = read_expression(given, schema)
    return name, Expression(text, type, columns)


def _no_expression(given: Any) -> PlanError:
    fix = "write Spark SQL text, such as 'points * 2', or a PySpark Column"
    if isinstance(given, Aggregate):
        fix = "use it in aggregate(…), after key_by(…) and window(…)"
    elif isinstance(given, list | tuple) and given:
        fix = f"give its parts one by one: {', '.join(map(repr, given))}"
    elif callable(given):
        given = f"the function {getattr(given, '__name__', given)}"
        fix = "use flat_map(…) or map(…) for Python functions"
    return PlanError("MS112", f"{given} is no expression", fix=fix)


def _own_name(given: Any, expression: Expression) -> str:
    from millstream.plan.sql.reading import column_name

    name = None if expression.column is not None else column_name(expression.text)
    if name is None:
        raise PlanError(
            "MS112",
            f"{expression.text!r} has no name",
            fix="give it as name=column"
            if given is expression.column
            else f"write '{expression.text} AS name', with a name of your choice",
        )
    return name


def is_pyspark_column(given: Any) -> bool:
    """Whether this is a PySpark Column, found out without importing PySpark."""
    kinds = type(given).__mro__
    return any(k.__name__ == "Column" and k.__module__.startswith("pyspark.sql") for k in kinds)
