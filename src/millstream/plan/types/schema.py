"""What columns a stream has, read from Spark DDL text, a dataclass or type hints."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from typing import Any

from millstream.model.errors import PlanError, did_you_mean

HIDDEN = "__millstream_"
"""How the columns begin that travel beside the user's; see ``hidden``."""


@dataclass(frozen=True, slots=True)
class Field:
    """A column: its name, and its Spark type where it is known."""

    name: str
    type: str | None

    def __str__(self) -> str:
        return f"{quoted(self.name)} {self.type or '?'}"


@dataclass(frozen=True, slots=True)
class Schema:
    """The columns of a stream, in order; no two names differ by case alone, as in Spark.

    A name is matched exactly, else without regard to case.

    >>> schema = Schema.of("user string, points int")
    >>> print(schema)
    user STRING, points INT
    >>> schema.resolve("POINTS")
    Field(name='points', type='INT')
    """

    fields: tuple[Field, ...]

    def __post_init__(self) -> None:
        if not self.fields:
            raise PlanError("MS111", "the schema has no columns", fix="name at least one column")
        seen: dict[str, str] = {}
        for name in self.names:
            if name.lower().startswith(HIDDEN):
                raise PlanError(
                    "MS111",
                    f"names that begin with {HIDDEN!r}, such as {name!r}, are Millstream's own",
                    fix="give the column another name",
                )
            if name.lower() in seen:
                both = f"{seen[name.lower()]!r} and {name!r}"
                raise PlanError(
                    "MS111",
                    f"Spark cannot distinguish two columns of the schema, {both}",
                    fix="give each column its own name",
                )
            seen[name.lower()] = name

    @classmethod
    def of(cls, given: Any) -> Schema:
        """The schema of a DDL text, a dataclass, TypedDict, NamedTuple or mapping.

        >>> print(Schema.of({"user": str, "scores": list[int]}))
        user STRING, scores ARRAY<BIGINT>
        """
        if isinstance(given, Schema):
            return given
        # sqlglot costs most of an import of millstream: only programs with schemas pay it.
        from millstream.plan.types.schema_reading import read_schema

        return cls(tuple(Field(name, type) for name, type in read_schema(given)))

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the columns."""
        return tuple(field.name for field in self.fields)

    def find(self, name: str) -> Field | None:
        """The column of that name, if there is one."""
        found: Field | None = find_name(name, {field.name: field for field in self.fields})
        return found

    def resolve(self, name: str) -> Field:
        """The column of that name, refused if there is none."""
        field = self.find(name)
        if field is None:
            raise PlanError(
                "MS102",
                f"there is no column {name!r}",
                fix=did_you_mean(name, self.names),
            )
        return field

    def with_fields(self, fields: Iterable[Field]) -> Schema:
        """This schema with more columns; one of a known name replaces it in its place."""
        columns = {field.name: field for field in self.fields}
        for field in fields:
            old = self.find(field.name)
            columns[old.name if old else field.name] = field
        return Schema(tuple(columns.values()))

    def __iter__(self) -> Iterator[Field]:
        return iter(self.fields)

    def __str__(self) -> str:
        return ", ".join(map(str, self.fields))


def quoted(name: str) -> str:
    """A column's name as DDL spells it.

    >>> quoted("points"), quoted("total points"), quoted("größe")
    ('points', '`total points`', '`größe`')
    """
    return name if name.isidentifier() and name.isascii() else "`" + name.replace("`", "``") + "`"


def hidden(name: str) -> str:
    """A name that no column of a user has.

    >>> hidden("key 0")
    '__millstream_key 0'
    """
    return f"{HIDDEN}{name}"


def find_name(name: str, known: dict[str, Any]) -> Any:
    """What ``known`` holds under the name: matched exactly, else without regard to case."""
    if name in known:
        return known[name]
    return next((value for key, value in known.items() if key.lower() == name.lower()), None)
