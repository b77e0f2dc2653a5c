"""MS111: which columns can be decoded from JSON and CSV, in records of Kafka and lines of files."""

from __future__ import annotations

import re

from millstream.model.errors import PlanError
from millstream.plan.types.result_types import base_type
from millstream.plan.types.schema import Schema

_UNREAD_NAME = re.compile(r'["\\\x00-\x1f]')
_UNREAD = ("INTERVAL", "VARIANT", "CHAR", "VARCHAR")


def check_decodable(columns: Schema, format: str, what: str, else_: str) -> None:
    """Refuses columns that no JSON or CSV holds; ``what`` has them, ``else_`` is another way."""
    for column in columns:
        if _UNREAD_NAME.search(column.name):
            raise PlanError(
                "MS111",
                f"column {column.name!r} has a quote, backslash or control character in its name",
                fix=f"give it another name, or {else_}",
            )
        part = None if column.type is None else _unread_part(column.type, format)
        if part is not None:
            keys = format == "json" and base_type(part) == "MAP"
            instead = "make the keys of the map STRING" if keys else "read STRING instead"
            raise PlanError(
                "MS111",
                f"column {column.name!r} has {part}, which {format} {what} cannot hold",
                fix=f"{instead}, or {else_}",
            )


def _unread_part(type: str, format: str) -> str | None:
    """The part of a type that the format cannot hold, if there is one.

    >>> _unread_part("STRUCT<a: ARRAY<INTERVAL>, b: STRING>", "json")
    'INTERVAL'
    """
    # sqlglot costs most of an import of millstream: only programs with schemas pay it.
    from millstream.plan.types.ddl import inner_types

    base, inner = base_type(type), [each for _, each in inner_types(type)]
    if base.startswith(_UNREAD) or (inner and format == "csv"):
        return type
    if base == "MAP" and inner[0] != "STRING":
        return type
    return next((part for each in inner if (part := _unread_part(each, format))), None)
