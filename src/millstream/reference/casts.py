"""Casts of Spark SQL over plain values, in ANSI mode: what does not fit is an error, or null."""

from __future__ import annotations

import math
import re
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta
from decimal import ROUND_HALF_UP, Context, Decimal
from typing import Any

from sqlglot import exp

from millstream.plan.sql.failures import SqlError

_T = exp.DType
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_WHOLE = re.compile(r"[+-]?[0-9]+")
_NUMBER = re.compile(r"[+-]?(?:[0-9]+\.?[0-9]*|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_SPECIAL = {
    **dict.fromkeys(("inf", "+inf", "infinity", "+infinity"), math.inf),
    **dict.fromkeys(("-inf", "-infinity"), -math.inf),
    "nan": math.nan,
}
_BOOLEANS = {
    **dict.fromkeys(("t", "true", "y", "yes", "1"), True),
    **dict.fromkeys(("f", "false", "n", "no", "0"), False),
}
_BITS = {_T.TINYINT: 8, _T.SMALLINT: 16, _T.INT: 32, _T.BIGINT: 64}
_EXACT = Context(prec=76)


def knows(to: exp.DataType) -> bool:
    """Whether the reference can cast to a type."""
    return to.this in _CASTS


def cast(to: exp.DataType, lenient: bool, value: Any) -> Any:
    """The value in another type; null if it has none there and the cast is ``lenient``."""
    try:
        return _CASTS[to.this](value, to)
    except SqlError:
        if lenient:
            return None
        raise


def to_text(value: Any) -> str:
    """A value as Spark shows it."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, datetime):
        whole = value.astimezone(UTC).strftime("%Y-%m-%d %H:%M:%S")
        return f"{whole}.{value.microsecond:06}".rstrip("0") if value.microsecond else whole
    return str(value)


def _malformed(value: Any, to: exp.DataType) -> SqlError:
    why = f"""The value '{value}' of the type "STRING" cannot be cast to "{to.sql("spark")}" """
    return SqlError("CAST_INVALID_INPUT", f"{why}because it is malformed")


def _too_large(value: Any, to: exp.DataType) -> SqlError:
    why = f"""The value {value} cannot be cast to "{to.sql("spark")}" due to an overflow"""
    return SqlError("CAST_OVERFLOW", why)


def _trimmed(value: str) -> str:
    return value.strip("".join(map(chr, [*range(33), 127])))


def _to_whole(value: Any, to: exp.DataType) -> int:
    bound = 2 ** (_BITS[to.this] - 1)
    if isinstance(value, str):
        text = _trimmed(value)
        if not _WHOLE.fullmatch(text) or not -bound <= int(text) < bound:
            raise _malformed(value, to)
        return int(text)
    if isinstance(value, float) and not math.isfinite(value):
        raise _too_large(value, to)
    whole = int(math.floor(value.timestamp()) if isinstance(value, datetime) else value)
    if not -bound <= whole < bound:
        raise _too_large(value, to)
    return whole


def _to_float(value: Any, to: exp.DataType) -> float:
    if isinstance(value, datetime):
        return value.timestamp()
    if not isinstance(value, str):
        return float(value)
    text = _trimmed(value)
    if text.lower() in _SPECIAL:
        return _SPECIAL[text.lower()]
    # Java takes 1d and 1f for numbers, too.
    bare = text[:-1] if text[-1:] in tuple("dDfF") else text
    if not _NUMBER.fullmatch(bare):
        raise _malformed(value, to)
    return float(bare)


def _to_decimal(value: Any, to: exp.DataType) -> Decimal:
    if isinstance(value, str):
        text = _trimmed(value)
        if not _NUMBER.fullmatch(text):
            raise _malformed(value, to)
        value = text
    given = Decimal(repr(value) if isinstance(value, float) else value)
    precision, scale = (int(p.name) for p in to.expressions) if to.expressions else (10, 0)
    fits = given.is_finite() and given.adjusted() < precision - scale + 1
    rounded = given.quantize(Decimal(1).scaleb(-scale), ROUND_HALF_UP, _EXACT) if fits else given
    if not fits or abs(rounded) >= Decimal(10) ** (precision - scale):
        why = f"{value} cannot be represented as Decimal({precision}, {scale})"
        raise SqlError("NUMERIC_VALUE_OUT_OF_RANGE", why)
    return rounded


def _to_bool(value: Any, to: exp.DataType) -> bool:
    if not isinstance(value, str):
        return bool(value)
    known = _BOOLEANS.get(_trimmed(value).lower())
    if known is None:
        raise _malformed(value, to)
    return known


def _to_timestamp(value: Any, to: exp.DataType) -> datetime:
    match value:
        case str():
            try:
                moment = datetime.fromisoformat(_trimmed(value))
            except ValueError:
                raise _malformed(value, to) from None
        case datetime():
            moment = value
        case date():
            moment = datetime(value.year, value.month, value.day)
        case _:
            try:
                return _EPOCH + timedelta(seconds=float(value))
            except (OverflowError, ValueError):
                raise _too_large(value, to) from None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)


def _to_date(value: Any, to: exp.DataType) -> date:
    if not isinstance(value, str):
        return _to_timestamp(value, to).date()
    try:
        return date.fromisoformat(_trimmed(value))
    except ValueError:
        raise _malformed(value, to) from None


_CASTS: dict[Any, Callable[[Any, exp.DataType], Any]] = {
    **dict.fromkeys((_T.TEXT, _T.VARCHAR, _T.CHAR), lambda value, to: to_text(value)),
    **dict.fromkeys(_BITS, _to_whole),
    **dict.fromkeys((_T.FLOAT, _T.DOUBLE), _to_float),
    _T.DECIMAL: _to_decimal,
    _T.BOOLEAN: _to_bool,
    **dict.fromkeys((_T.TIMESTAMP, _T.TIMESTAMPTZ, _T.TIMESTAMPLTZ), _to_timestamp),
    _T.DATE: _to_date,
}
