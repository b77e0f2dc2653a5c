"""Which Python values a Spark type holds, and how rows keep them: structs as dicts, say."""

from __future__ import annotations

import dataclasses
import re
import struct
from collections.abc import Callable, Mapping, MutableSequence, MutableSet
from datetime import UTC, date, datetime
from decimal import Context, Decimal, Inexact, InvalidOperation
from functools import cache
from typing import Any

from millstream.plan.types.result_types import INTEGERS, base_type

Keep = Callable[[Any], Any]
"""Gives a value in the form in which rows keep it, or raises MisfitError."""

_LIMITS = {n: 2 ** (b - 1) for n, b in zip(INTEGERS, (8, 16, 32, 64), strict=True)}
_KINDS: dict[str, tuple[str, tuple[type, ...], tuple[type, ...]]] = {
    # What to give, what that is in Python, and what Python takes for it but Spark does not.
    **dict.fromkeys(INTEGERS, ("an int", (int,), (bool,))),
    **dict.fromkeys(("FLOAT", "DOUBLE"), ("a float or an int", (float, int), (bool,))),
    "DECIMAL": ("a Decimal or an int", (Decimal, int), (bool,)),
    **dict.fromkeys(("STRING", "CHAR", "VARCHAR"), ("a str", (str,), ())),
    "BOOLEAN": ("True or False", (bool,), ()),
    "BINARY": ("bytes", (bytes, bytearray), ()),
    **dict.fromkeys(("TIMESTAMP", "TIMESTAMP_NTZ"), ("a datetime", (datetime,), ())),
    "DATE": ("a date", (date,), (datetime,)),
    "ARRAY": (
        "a list whose items fit",
        (list, tuple, set, frozenset, MutableSequence, MutableSet),
        (bytearray,),
    ),
    "MAP": ("a dict whose keys and values fit", (Mapping,), ()),
    "STRUCT": ("a dict, dataclass instance or NamedTuple whose fields fit", (Mapping,), ()),
}


class MisfitError(Exception):
    """A value that the type does not hold; its text is the reason."""


@cache
def keeping(type: str | None) -> Keep:
    """What keeps the values of a Spark type; null fits all, and a type not known takes all.

    >>> keeping("ARRAY<INT>")((1, None, 3))
    [1, None, 3]
    """
    base = None if type is None else base_type(type)
    if type is None or base not in _KINDS:
        return lambda value: value
    inside = _inside(base, type)
    _, kinds, but = _KINDS[base]

    def keep(value: Any) -> Any:
        if value is None:
            return None
        value = as_mapping(value) if base == "STRUCT" else value
        if not isinstance(value, kinds) or isinstance(value, but):
            raise MisfitError
        return inside(value)

    return keep


def python_values(type: str) -> str:
    """What a user may give for a type, in the words of Python.

    >>> python_values("SMALLINT"), python_values("STRING")
    ('an int from -32768 to 32767', 'a str')
    """
    limit, base = _LIMITS.get(type), base_type(type)
    if limit:
        return f"an int from {-limit} to {limit - 1}"
    if base == "DECIMAL":
        precision, scale = _digits(type)
        before = f"at most {precision - scale} digits before the point"
        return f"{_KINDS[base][0]} with {before} and {scale} after it"
    return _KINDS[base][0]


def as_mapping(value: Any) -> Any:
    """Dataclass instances and NamedTuples as mappings of their fields; anything else as it is."""
    if dataclasses.is_dataclass(value) and not isinstance(value, type):
        return {field.name: getattr(value, field.name) for field in dataclasses.fields(value)}
    if isinstance(value, tuple) and hasattr(value, "_asdict"):
        return value._asdict()
    return value


def exactly(precision: int, scale: int) -> Callable[[Decimal | int], Decimal]:
    """What gives numbers so many digits, and raises ArithmeticError if that takes any away.

    Arrow is not to be asked: it makes 0 of 1e-77, and crashes at 1e-9999999.

    >>> exactly(10, 2)(Decimal("1.5000"))
    Decimal('1.50')
    """
    rules = Context(precision, traps=[Inexact, InvalidOperation])
    step = Decimal(1).scaleb(-scale)

    def exact(value: Decimal | int) -> Decimal:
        made = Decimal(value).quantize(step, context=rules)
        if made.is_nan():
            raise InvalidOperation
        return made or made.copy_abs()  # in Spark, no zero has a sign

    return exact


def _inside(base: str, type: str) -> Keep:
    """What keeps a value of the right kind: numbers in their range, what nested types hold."""
    if base in _LIMITS:
        return _in_range(_LIMITS[base])
    if base == "DECIMAL":
        return _decimal(*_digits(type))
    if base in _PLAIN:
        return _PLAIN[base]
    if base not in ("ARRAY", "MAP", "STRUCT"):
        return lambda value: value
    from millstream.plan.types.ddl import inner_types

    keeps = [(name, keeping(inner)) for name, inner in inner_types(type)]
    if base == "STRUCT":
        return _struct(dict(keeps))
    if base == "ARRAY":
        ((_, item),) = keeps
        return lambda value: [item(each) for each in value]
    (_, key), (_, of) = keeps
    return _map(key, of)


def _in_range(limit: int) -> Keep:
    def keep(value: int) -> int:
        if not -limit <= value < limit:
            raise MisfitError
        return value

    return keep


def _decimal(precision: int, scale: int) -> Keep:
    exact = exactly(precision, scale)

    def keep(value: Decimal | int) -> Decimal:
        try:
            return exact(value)
        except ArithmeticError:
            raise MisfitError(why(Decimal(value))) from None

    def why(value: Decimal) -> str:
        if not value.is_finite():
            return "it is not finite"
        if abs(value) >= 10 ** (precision - scale):
            return f"it has more than {precision - scale} digits before the point"
        return f"it would lose digits, so round it: round(value, {scale})"

    return keep


def _digits(type: str) -> tuple[int, int]:
    """Precision and scale of a DECIMAL."""
    precision, scale = map(int, re.findall(r"\d+", type))
    return precision, scale


def _double(value: float) -> float:
    try:
        return float(value)
    except OverflowError:  # an int with hundreds of digits
        raise MisfitError("it is too large") from None


def _single(value: float) -> float:
    try:
        (kept,) = _SINGLE.unpack(_SINGLE.pack(float(value)))
    except OverflowError:
        raise MisfitError("it is too large") from None
    return float(kept)


def _text(value: str) -> str:
    try:
        value.isascii() or value.encode()
    except UnicodeEncodeError:
        raise MisfitError("it has half of a surrogate pair, which is no text in UTF-8") from None
    return value


def _instant(value: datetime) -> datetime:
    if value.tzinfo is None:  # as Spark's sessions read it, which are in UTC
        return value.replace(tzinfo=UTC)
    try:
        return value.astimezone(UTC)
    except OverflowError:
        raise MisfitError("in UTC, it is outside the years 1 to 9999") from None


_SINGLE = struct.Struct("<f")
_PLAIN: dict[str, Keep] = {
    "DOUBLE": _double,
    "FLOAT": _single,
    **dict.fromkeys(("STRING", "CHAR", "VARCHAR"), _text),
    "TIMESTAMP": _instant,
}


def _map(key: Keep, of: Keep) -> Keep:
    def keep(value: Mapping[Any, Any]) -> dict[Any, Any]:
        if None in value:
            raise MisfitError("no key of a MAP may be None")
        return {key(k): of(v) for k, v in value.items()}

    return keep


def _struct(fields: dict[str, Keep]) -> Keep:
    def keep(value: Mapping[str, Any]) -> dict[str, Any]:
        if value.keys() != fields.keys():
            raise MisfitError
        return {name: of(value[name]) for name, of in fields.items()}

    return keep
