"""One total order over all values, so that no result depends on the order of arrival."""

from __future__ import annotations

import math
from collections.abc import Mapping, Set
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_EPOCH_DAY = date(1970, 1, 1)
_MICROSECOND = timedelta(microseconds=1)


def ordering(value: Any) -> tuple[Any, ...]:
    """A sort key for any value: null, numbers (NaN last), text, bytes, times, lists, structs.

    Two values are the same to Millstream when their keys are equal: NaN equals itself.

    >>> sorted(["b", 2, None, "a", float("nan"), 1.5], key=ordering)
    [None, 1.5, 2, nan, 'a', 'b']
    """
    match value:
        case None:
            return (0,)
        case bool() | int() | float() | Decimal():
            return (1, 1, 0) if math.isnan(value) else (1, 0, value)
        case str():
            return (2, value)
        case bytes() | bytearray():
            return (3, bytes(value))
        case datetime():
            zoned = value.tzinfo is not None
            # Not value.timestamp(): a float is too coarse for microseconds of later centuries.
            return (4, zoned, (value - _EPOCH) // _MICROSECOND if zoned else value.isoformat())
        case date():
            return (5, (value - _EPOCH_DAY).days)
        case timedelta():
            return (6, value)
        case list() | tuple():
            return (7, tuple(ordering(v) for v in value))
        case Set():
            return (8, tuple(sorted(ordering(v) for v in value)))
        case Mapping():
            # A struct's fields are in the order of their columns, which is the one that counts.
            return (9, tuple((ordering(k), ordering(v)) for k, v in value.items()))
    return (10, type(value).__qualname__, repr(value))
