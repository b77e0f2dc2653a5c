"""The Spark SQL functions that the reference knows, each over plain values that are not null."""

from __future__ import annotations

import math
import operator
import re
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Any

from sqlglot import exp

from millstream.plan.sql.failures import SqlError
from millstream.reference.casts import to_text
from millstream.reference.ordering import ordering


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


def in_range(value: int, bound: int) -> int:
    """A whole number, if its type can hold it."""
    if not -bound <= value < bound:
        raise SqlError("ARITHMETIC_OVERFLOW", "overflow")
    return value


def _alike(run: Callable[[Any, Any], Any]) -> Callable[[Any, Any], Any]:
    """Arithmetic in which a decimal beside a float is a float, as in Spark."""

    def computed(a: Any, b: Any) -> Any:
        if isinstance(a, float) and isinstance(b, Decimal):
            return run(a, float(b))
        if isinstance(a, Decimal) and isinstance(b, float):
            return run(float(a), b)
        return run(a, b)

    return computed


def _divide(a: Any, b: Any) -> Any:
    if b == 0:
        raise SqlError("DIVIDE_BY_ZERO", "Division by zero")
    return a / b if isinstance(a, Decimal) or isinstance(b, Decimal) else float(a) / float(b)


def _remainder(a: Any, b: Any) -> Any:
    """The sign is the dividend's, as in Spark; Python's ``%`` takes the divisor's."""
    if b == 0:
        raise SqlError("REMAINDER_BY_ZERO", "Remainder by zero")
    rest = abs(a) % abs(b)
    return -rest if a < 0 else rest


def _quotient(a: int, b: int) -> int:
    if b == 0:
        raise SqlError("DIVIDE_BY_ZERO", "Division by zero")
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
        why = f"The index {index} is out of bounds. The array has {len(container)} elements"
        raise SqlError("INVALID_ARRAY_INDEX", why)
    return container[index]


_T = exp.DType
BOUNDS = {_T.TINYINT: 2**7, _T.SMALLINT: 2**15, _T.INT: 2**31, _T.BIGINT: 2**63}
"""The first whole number that is too large for a type."""
_BINARY = ("this", "expression")
FUNCTIONS: dict[type[exp.Expr], tuple[Callable[..., Any], tuple[str, ...]]] = {
    exp.Add: (_alike(operator.add), _BINARY),
    exp.Sub: (_alike(operator.sub), _BINARY),
    exp.Mul: (_alike(operator.mul), _BINARY),
    exp.Div: (_alike(_divide), _BINARY),
    exp.IntDiv: (_quotient, _BINARY),
    exp.Mod: (_alike(_remainder), _BINARY),
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
    exp.Concat: (lambda *parts: "".join(map(to_text, parts)), ("expressions",)),
    exp.DPipe: (lambda a, b: to_text(a) + to_text(b), _BINARY),
    exp.ArraySize: (len, ("this",)),
    exp.ArrayContains: (lambda items, v: any(equal(i, v) for i in items), _BINARY),
}
