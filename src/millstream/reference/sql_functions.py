"""The Spark SQL functions that the reference knows, each over plain values that are not null."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

from sqlglot import exp

from millstream.reference.ordering import ordering

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)


def _compared(a: Any, b: Any) -> tuple[Any, Any]:
    left, right = ordering(a), ordering(b)
    if left[0] != right[0]:
        raise TypeError(f"{a!r} and {b!r} cannot be compared")
    return left, right


def equal(a: Any, b: Any) -> bool | None:
    if a is None or b is None:
        return None
    left, right = _compared(a, b)
    return bool(left == right)


def _comparison(test: Callable[[Any, Any], bool]) -> Callable[[Any, Any], bool]:
    return lambda a, b: test(*_compared(a, b))


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise ZeroDivisionError(f"{a!r} / 0")
    return a / b


def _remainder(a: Any, b: Any) -> Any:
    """The sign is the dividend's, as in Spark; Python's ``%`` takes the divisor's."""
    if b == 0:
        raise ZeroDivisionError(f"{a!r} % 0")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise ZeroDivisionError(f"{a!r} div 0")
    return abs(a) // abs(b) * (1 if (a < 0) == (b < 0) else -1)


def _round(value: Any, digits: int = 0) -> Any:
    """Half away from zero, as in Spark; Python's ``round`` goes to even."""
    if isinstance(value, int):
        return value if digits >= 0 else int(_round(Decimal(value), digits))
    exact = Decimal(repr(value)) if isinstance(value, float) else value
    rounded = exact.quantize(Decimal(1).scaleb(-digits), rounding="ROUND_HALF_UP")
    return float(rounded) if isinstance(value, float) else rounded


def _like(value: str, pattern: str) -> bool:
    escaped = re.escape(pattern).replace("%", ".*").replace("_", ".")
    return re.fullmatch(escaped, value, re.DOTALL) is not None


def _substring(value: str, start: int, length: int | None = None) -> str:
    begin = start - 1 if start > 0 else max(len(value) + start, 0) if start < 0 else 0
    return value[begin:] if length is None else value[begin : begin + max(length, 0)]


def item(container: Any, index: Any) -> Any:
    if isinstance(container, Mapping):
        return container.get(index)
    if not 0 <= index < len(container):
        raise IndexError(f"index {index} of a list of {len(container)}")
    return container[index]


def cast(kind: Any, lenient: bool, value: Any) -> Any:
    try:
        return _CASTS[kind](value)
    except (ValueError, ArithmeticError):
        if lenient:
            return None
        raise


def _to_text(value: Any) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        return value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
    return str(value)


def _to_whole(value: Any) -> int:
    return int(value.strip()) if isinstance(value, str) else int(value)


def _to_bool(value: Any) -> bool:
    if isinstance(value, str):
        if value.strip().lower() not in _BOOLEANS:
            raise ValueError(f"{value!r} is not true or false")
        return _BOOLEANS[value.strip().lower()]
    return bool(value)


def _to_timestamp(value: Any) -> datetime:
    match value:
        case str():
            moment = datetime.fromisoformat(value.strip())
        case datetime():
            moment = value
        case date():
            moment = datetime(value.year, value.month, value.day)
        case _:
            return _EPOCH + timedelta(seconds=float(value))
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _to_date(value: Any) -> date:
    return (
        date.fromisoformat(value.strip()) if isinstance(value, str) else _to_timestamp(value).date()
    )


_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_T = exp.DType
_CASTS: dict[Any, Callable[[Any], Any]] = {
    **dict.fromkeys((_T.TEXT, _T.VARCHAR, _T.CHAR), _to_text),
    **dict.fromkeys((_T.TINYINT, _T.SMALLINT, _T.INT, _T.BIGINT), _to_whole),
    **dict.fromkeys((_T.FLOAT, _T.DOUBLE), float),
    _T.DECIMAL: lambda v: Decimal(str(v)),
    _T.BOOLEAN: _to_bool,
    **dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ), _to_timestamp),
    _T.DATE: _to_date,
}
_BINARY = ("this", "expression")
FUNCTIONS: dict[type[exp.Expr], tuple[Callable[..., Any], tuple[str, ...]]] = {
    exp.Add: (operator.add, _BINARY),
    exp.Sub: (operator.sub, _BINARY),
    exp.Mul: (operator.mul, _BINARY),
    exp.Div: (_divide, _BINARY),
    exp.IntDiv: (_quotient, _BINARY),
    exp.Mod: (_remainder, _BINARY),
    exp.EQ: (equal, _BINARY),
    exp.NEQ: (lambda a, b: not equal(a, b), _BINARY),
    exp.LT: (_comparison(operator.lt), _BINARY),
    exp.LTE: (_comparison(operator.le), _BINARY),
    exp.GT: (_comparison(operator.gt), _BINARY),
    exp.GTE: (_comparison(operator.ge), _BINARY),
    exp.Between: (
        lambda v, low, high: _comparison(operator.le)(low, v) and _comparison(operator.le)(v, high),
        ("this", "low", "high"),
    ),
    exp.Like: (_like, _BINARY),
    exp.Abs: (abs, ("this",)),
    exp.Round: (_round, ("this", "decimals")),
    exp.Floor: (math.floor, ("this",)),
    exp.Ceil: (math.ceil, ("this",)),
    exp.Sqrt: (math.sqrt, ("this",)),
    exp.Lower: (str.lower, ("this",)),
    exp.Upper: (str.upper, ("this",)),
    exp.Trim: (str.strip, ("this",)),
    exp.Length: (len, ("this",)),
    exp.Substring: (_substring, ("this", "start", "length")),
    exp.Concat: (lambda *parts: "".join(map(_to_text, parts)), ("expressions",)),
    exp.DPipe: (lambda a, b: _to_text(a) + _to_text(b), _BINARY),
    exp.ArraySize: (len, ("this",)),
    exp.ArrayContains: (lambda items, v: any(equal(i, v) for i in items), _BINARY),
}
