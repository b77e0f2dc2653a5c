"""Rows as a program writes them, brought into one form: a dict with the columns of a schema."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable, Mapping
from typing import Any

from millstream.model.errors import PlanError, RunError
from millstream.plan.schema import Schema
from millstream.plan.steps import in_step


def row_of(value: Any, schema: Schema, *, what: str, step: str | None = None) -> dict[str, Any]:
    """The row that ``value`` is: a mapping, a dataclass instance, or a tuple in schema order.

    >>> row_of(("ann", 3), Schema.of("user string, points int"), what="row 0")
    {'user': 'ann', 'points': 3}
    """
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        value = dataclasses.asdict(value)
    if isinstance(value, Mapping):
        return _from_mapping(value, schema, what, step)
    if isinstance(value, tuple | list) and len(value) == len(schema.fields):
        return dict(zip(schema.names, value, strict=True))
    size = f" of {len(value)} values" if isinstance(value, tuple | list) else ""
    raise RunError(
        "MS202",
        f"{what} is {value!r}{size}, which is no row of the schema {schema}",
        fix=f"give a dict, a dataclass instance, or a tuple of {len(schema.fields)} values",
        step=step,
    )


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


def _from_mapping(
    value: Mapping[str, Any], schema: Schema, what: str, step: str | None
) -> dict[str, Any]:
    unknown = [name for name in value if name not in schema.names]
    missing = [name for name in schema.names if name not in value]
    if unknown or missing:
        wrong = (
            f"has no column {missing[0]!r}" if missing else f"has a column {unknown[0]!r} too many"
        )
        raise RunError(
            "MS202",
            f"{what} {wrong}: {dict(value)!r}",
            fix=f"give exactly the columns of the schema ({', '.join(schema.names)}), "
            "with None where there is no value",
            step=step,
        )
    return {name: value[name] for name in schema.names}
