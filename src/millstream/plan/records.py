"""Records and values as text, for people and programs: of what was rejected, one line of JSON."""

from __future__ import annotations

import base64
import json
import math
from collections.abc import Callable, Mapping
from datetime import UTC, date, datetime
from decimal import Decimal
from typing import Any

MOST_TEXT = 2000
"""So many characters of a value or an error are shown in a message."""


def shown(value: Any, write: Callable[[Any], str] = repr) -> str:
    """A value in a message: neither too long, nor an error if it cannot be written.

    >>> shown("a"), shown([0] * 10_000)[-25:]
    ("'a'", '0, 0… (30,000 characters)')
    """
    text = text_of(write, value)
    return text if len(text) <= MOST_TEXT else f"{text[:MOST_TEXT]}… ({len(text):,} characters)"


def text_of(write: Callable[[Any], str], value: Any) -> str:
    """What ``repr`` or ``str`` makes of a value, whose class may have its own faulty version."""
    try:
        return write(value)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        kind, why = type(value).__name__, type(error).__name__
        return f"<{kind} without text: {why} in its {write.__name__}>"


def record_text(record: Any) -> str:
    """The record as JSON: columns in their order, timestamps in ISO 8601, bytes in base64.

    >>> record_text({"user": "Zoë", "at": datetime(2024, 5, 1, tzinfo=UTC), "points": None})
    '{"user":"Zoë","at":"2024-05-01T00:00:00.000000Z","points":null}'
    """
    return json.dumps(_plain(record), ensure_ascii=False, separators=(",", ":"))


def _plain(value: Any) -> Any:
    if isinstance(value, Mapping):
        return {str(key): _plain(each) for key, each in value.items()}
    if isinstance(value, list | tuple | set | frozenset):
        return [_plain(each) for each in value]
    if isinstance(value, datetime):
        zoned = value.tzinfo is not None
        text = (value.astimezone(UTC) if zoned else value).strftime("%Y-%m-%dT%H:%M:%S.%f")
        return f"{text}Z" if zoned else text
    if isinstance(value, date):
        return value.isoformat()
    if isinstance(value, bytes):
        return base64.b64encode(value).decode("ascii")
    if isinstance(value, float) and not math.isfinite(value):
        return {math.inf: "Infinity", -math.inf: "-Infinity"}.get(value, "NaN")
    if isinstance(value, Decimal) and not value.is_finite():
        return str(value)
    if isinstance(value, Decimal):
        return float(value) if value != value.to_integral_value() else int(value)
    if value is None or isinstance(value, bool | int | float | str):
        return value
    return shown(value)
