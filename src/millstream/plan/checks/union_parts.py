"""MS109: the streams of a union have the same columns, in the same order and of the same types."""

from __future__ import annotations

from itertools import zip_longest

from millstream.model.errors import PlanError
from millstream.plan.nodes import Node
from millstream.plan.schema import Field, Schema


def united_schema(parts: tuple[Node, ...]) -> Schema:
    """The schema that all parts share; a type that one of them does not know, another may."""
    first, *others = parts
    schema = first.schema
    for other in others:
        pairs = zip_longest(schema, other.schema)
        schema = Schema(tuple(_united(a, b, first, other) for a, b in pairs))
    return schema


def _united(a: Field | None, b: Field | None, first: Node, other: Node) -> Field:
    if a and b and a.name == b.name and (a.type == b.type or not (a.type and b.type)):
        return a if a.type else b
    columns = ", ".join(repr(name) for name in first.schema.names)
    cast = (
        f" and bring types together, such as {_cast(a)!r}" if a and b and a.name == b.name else ""
    )
    moved = not cast and sorted(first.schema.names) == sorted(other.schema.names)
    raise PlanError(
        "MS109",
        f"{first.name!r} has {a or 'no more columns'} where {other.name!r} has "
        f"{b or 'no more columns'}{' (the same columns in another order)' if moved else ''}",
        fix=f"make them alike: .select({columns}) before the union{cast}",
    )


def _cast(field: Field) -> str:
    return f"cast({field.name} AS {field.type}) AS {field.name}"
