"""Rows as a program writes them, brought into one form: a dict with the columns of a schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from millstream.model.amounts import counted
from millstream.model.errors import PlanError, RunError, in_step
from millstream.plan.records import shown
from millstream.plan.types.schema import Field, Schema
from millstream.plan.types.values import MisfitError, as_mapping, keeping, python_values


def row_of(value: Any, schema: Schema, *, what: str, step: str | None = None) -> dict[str, Any]:
    """The row that ``value`` is: a mapping, a dataclass instance, or a tuple in schema order.

    Where there is one column, its value alone is a row, too; but None is not, for that is what
    a function without ``return`` gives.

    >>> row_of(("ann", 3), Schema.of("user string, points int"), what="row 0")
    {'user': 'ann', 'points': 3}
    >>> row_of("ann", Schema.of("user string"), what="row 0")
    {'user': 'ann'}
    """
    given = value if isinstance(value, tuple) else as_mapping(value)
    if isinstance(given, Mapping):
        values = _by_name(given, schema, what, step)
    elif isinstance(given, tuple | list) and len(given) == len(schema.fields):
        values = list(given)
    elif len(schema.fields) == 1 and not isinstance(given, tuple | list | None):
        values = [given]
    else:
        raise _no_row(value, schema, what, step)
    row = {}
    for field, each in zip(schema, values, strict=True):
        try:
            row[field.name] = keeping(field.type)(each)
        except MisfitError as error:
            raise _misfit(each, field, f"{error}", what, step) from None
    return row


def rows_of(values: Iterable[Any], schema: Any, step: str) -> tuple[Schema, tuple[Any, ...]]:
    """A program's rows and their schema, which dataclass instances and NamedTuples bring along."""
    given = list(values)
    with in_step(step):
        known = Schema.of(_schema_of(given) if schema is None else schema)
    rows = [row_of(row, known, what=f"row {n}", step=step) for n, row in enumerate(given)]
    return known, tuple(rows)


def _schema_of(rows: list[Any]) -> Any:
    kind = type(rows[0]) if rows else None
    if dataclasses.is_dataclass(kind) or hasattr(kind, "_fields"):
        return kind
    raise PlanError(
        "MS111",
        "nothing says what columns the rows have",
        fix="give schema='user string, points int', say, or rows of a dataclass",
    )


def _by_name(value: Mapping[str, Any], schema: Schema, what: str, step: str | None) -> list[Any]:
    unknown = [name for name in value if name not in schema.names]
    missing = [name for name in schema.names if name not in value]
    if unknown or missing:
        wrong = (
            f"has no column {missing[0]!r}" if missing else f"has a column {unknown[0]!r} too many"
        )
        raise RunError(
            "MS202",
            f"{what} {wrong}: {shown(dict(value))}",
            fix=f"give exactly the columns of the schema ({', '.join(schema.names)}), "
            "with None where there is no value",
            step=step,
        )
    return [value[name] for name in schema.names]


def _misfit(value: Any, field: Field, why: str, what: str, step: str | None) -> RunError:
    type = str(field.type)
    misfit = f"which does not fit {type}{why and f': {why}'}"
    return RunError(
        "MS202",
        f"{what} has {shown(value)} in column {field.name!r}, {misfit}",
        fix=f"give {python_values(type)}, or None, or another type in the schema",
        step=step,
    )


def _no_row(value: Any, schema: Schema, what: str, step: str | None) -> RunError:
    count = f", {counted(len(value), 'value')}" if isinstance(value, tuple | list) else ""
    (first, *more) = schema.names
    null = f"; where there is no value, {{{first!r}: None}}" if value is None and not more else ""
    values = counted(len(schema.fields), "value")
    return RunError(
        "MS202",
        f"{what} is {shown(value)}{count}, which is no row of the schema {schema}",
        fix=f"give a dict, a dataclass instance, or a tuple of {values}{null}",
        step=step,
    )
