"""Reads schemas: from Spark DDL text, and from Python's types."""

from __future__ import annotations

import dataclasses
import types
import typing
from collections.abc import Mapping
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, Any, Union, get_args, get_origin, get_type_hints

from millstream.model.errors import PlanError
from millstream.plan.types.ddl import identifier, read_ddl, read_type

_SCALARS: dict[Any, str] = {
    int: "BIGINT",
    float: "DOUBLE",
    str: "STRING",
    bool: "BOOLEAN",
    bytes: "BINARY",
    datetime: "TIMESTAMP",
    date: "DATE",
    Decimal: "DECIMAL(38, 18)",
}
_LISTS = (list, tuple, set, frozenset, typing.get_origin(typing.Sequence[int]))


def read_schema(given: Any) -> list[tuple[str, str | None]]:
    """Names and types of the columns that ``given`` describes."""
    if isinstance(given, str):
        return list(read_ddl(given))
    if isinstance(given, Mapping):
        return [(_name(name), python_type(hint)) for name, hint in given.items()]
    if is_record(given):
        return [(name, python_type(hint)) for name, hint in type_hints(given).items()]
    raise PlanError(
        "MS111",
        f"{given!r} is no schema",
        fix="give Spark DDL text such as 'user string, points int', a dataclass, a TypedDict, "
        "a NamedTuple, or a dict of column names to types",
    )


def is_record(given: Any) -> bool:
    """Whether ``given`` is a class whose attributes or keys have type hints.

    >>> is_record(dict), is_record(typing.TypedDict("Score", {"user": str}))
    (False, True)
    """
    if not isinstance(given, type):
        return False
    named_tuple = issubclass(given, tuple) and hasattr(given, "_fields")
    return dataclasses.is_dataclass(given) or typing.is_typeddict(given) or named_tuple


def python_type(hint: Any) -> str:
    """The Spark type of a Python type; text is a Spark type already.

    >>> python_type(int), python_type(dict[str, list[float]]), python_type("decimal(10,2)")
    ('BIGINT', 'MAP<STRING, ARRAY<DOUBLE>>', 'DECIMAL(10, 2)')
    """
    if isinstance(hint, str):
        return read_type(hint)
    if hint in _SCALARS:
        return _SCALARS[hint]
    if is_record(hint):
        hints = type_hints(hint).items()
        inner = (f"{identifier(n).sql('spark')}: {python_type(h)}" for n, h in hints)
        return read_type(f"STRUCT<{', '.join(inner)}>")
    return _generic(hint)


def _generic(hint: Any) -> str:
    origin, args = get_origin(hint), get_args(hint)
    if origin is Annotated:
        return python_type(args[0])
    if origin in (Union, types.UnionType):
        return _optional(hint, args)
    if origin in _LISTS and len(set(args) - {Ellipsis}) == 1:
        return f"ARRAY<{python_type(args[0])}>"
    if isinstance(origin, type) and issubclass(origin, Mapping) and len(args) == 2:
        return f"MAP<{python_type(args[0])}, {python_type(args[1])}>"
    raise _untyped(hint)


def _optional(hint: Any, args: tuple[Any, ...]) -> str:
    """Every Spark column may be null, so ``X | None`` is X."""
    real = [a for a in args if a is not type(None)]
    if len(real) != 1:
        raise _untyped(hint)
    return python_type(real[0])


def type_hints(record: Any) -> dict[str, Any]:
    """The type hints of a class, refused if one cannot be read."""
    try:
        return get_type_hints(record, include_extras=True)
    except NameError as error:
        raise PlanError(
            "MS111",
            f"the type hints of {record.__name__} cannot be read: {error}",
            fix="define the types that it names at the top of its module",
        ) from None


def _name(name: Any) -> str:
    if isinstance(name, str) and name:
        return name
    raise PlanError("MS111", f"{name!r} is no column name", fix="name columns with text")


def _untyped(hint: Any) -> PlanError:
    return PlanError(
        "MS111",
        f"{hint!r} has no Spark type",
        fix="use int, float, str, bool, bytes, datetime, date, Decimal, list[X], dict[K, V], "
        "a dataclass, or text such as 'decimal(10, 2)'",
    )
