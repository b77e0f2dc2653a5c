"""MS109: the streams of a union have the same columns, in the same order and of the same types."""

from __future__ import annotations

from itertools import zip_longest

from millstream.model.errors import PlanError
from millstream.plan.nodes import Node
from millstream.plan.types.result_types import NUMBERS
from millstream.plan.types.schema import Field, Schema, quoted

_ORDINALS = ("first", "second", "third")


def united_schema(parts: tuple[Node, ...]) -> Schema:
    """The schema that all parts share; a type that one of them does not know, another may."""
    first, *others = parts
    schema = first.schema
    for n, other in enumerate(others, start=1):
        pairs = list(zip_longest(schema, other.schema))
        if not all(_alike(a, b) for a, b in pairs):
            raise _refusal(_Part(first.name, 0, schema), _Part(other.name, n, other.schema))
        schema = Schema(tuple(a if a.type else b for a, b in pairs))
    return schema


def _alike(a: Field | None, b: Field | None) -> bool:
    return bool(a and b and a.name == b.name and (a.type == b.type or not (a.type and b.type)))


class _Part:
    """A stream of the union, as the error speaks of it."""

    def __init__(self, name: str, place: int, schema: Schema) -> None:
        ordinal = _ORDINALS[place] if place < len(_ORDINALS) else f"{place + 1}th"
        self.called = f"the {ordinal} stream ({name!r})"
        self.schema = schema
        self.names = schema.names

    def lacks(self, other: _Part) -> list[Field]:
        return [field for field in other.schema if field.name not in self.names]


def _refusal(first: _Part, other: _Part) -> PlanError:
    a, b = next(pair for pair in zip_longest(first.schema, other.schema) if not _alike(*pair))
    moved = first.names != other.names and sorted(first.names) == sorted(other.names)
    return PlanError(
        "MS109",
        f"{first.called} has {a or 'no more columns'} where {other.called} has "
        f"{b or 'no more columns'}{' (the same columns in another order)' if moved else ''}",
        fix=_fix(first, other, a, b),
    )


def _fix(first: _Part, other: _Part, a: Field | None, b: Field | None) -> str:
    here, there = first.lacks(other), other.lacks(first)
    if len(here) == len(there) == 1:
        renamed = {there[0].name: f"{quoted(here[0].name)} AS {quoted(there[0].name)}"}
        columns = ", ".join(repr(renamed.get(name, name)) for name in first.names)
        return f"if they mean the same, write .select({columns}) on {other.called}"
    if here or there:
        added = [_filled(first, here, other), _filled(other, there, first)]
        return "write " + " and ".join(filter(None, added))
    if a and b and a.name == b.name:
        return _cast(first, other, a, b)
    return f"write .select({', '.join(map(repr, first.names))}) on {other.called}"


def _filled(part: _Part, lacking: list[Field], like: _Part) -> str:
    if not lacking:
        return ""
    nulls = (f"{f.name}={f'cast(NULL AS {f.type})' if f.type else 'NULL'!r}" for f in lacking)
    names = (*part.names, *(field.name for field in lacking))
    moved = names != like.names and sorted(names) == sorted(like.names)
    order = f".select({', '.join(map(repr, like.names))})" if moved else ""
    return f".with_columns({', '.join(nulls)}){order} on {part.called}"


def _cast(first: _Part, other: _Part, a: Field, b: Field) -> str:
    """To the wider of two types of numbers, so that no value is too large; else to the first."""
    wider = (
        a.type in NUMBERS and b.type in NUMBERS and NUMBERS.index(b.type) > NUMBERS.index(a.type)
    )
    part, type = (first, b.type) if wider else (other, a.type)
    return f"write .with_columns({a.name}='cast({quoted(a.name)} AS {type})') on {part.called}"
