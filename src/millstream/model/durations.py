"""Lengths of time. Everywhere inside, a duration is a whole number of microseconds."""

from __future__ import annotations

import math
import re
from datetime import timedelta

from millstream.model.errors import PlanError

type_of_duration = "a number of seconds, a timedelta, or text such as '90s', '1h30m', '500ms'"

Duration = int | float | str | timedelta
"""What a user may write for a length of time; numbers are seconds."""

FOREVER = 2**63 - 1
"""The longest duration, and the last instant: what the engine's 64-bit columns can hold."""

_UNITS = {
    "w": 604_800_000_000,
    "d": 86_400_000_000,
    "h": 3_600_000_000,
    "m": 60_000_000,
    "s": 1_000_000,
    "ms": 1_000,
    "us": 1,
}
_WORDS = {
    "w": "w week wk",
    "d": "d day",
    "h": "h hour hr",
    "m": "m minute min",
    "s": "s second sec",
    "ms": "millisecond milli msec",
    "us": "microsecond micro usec",
}
_PART = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(ms|us|µs|[wdhms])")


def microseconds(value: Duration, *, what: str = "duration") -> int:
    """The duration in microseconds; it may be negative or zero.

    >>> microseconds("1h30m"), microseconds(0.5), microseconds(timedelta(seconds=2))
    (5400000000, 500000, 2000000)
    """
    if isinstance(value, timedelta):
        # Exact integer arithmetic: total_seconds() would round above 270 years.
        result = value // timedelta(microseconds=1)
    elif isinstance(value, bool):
        raise _unreadable(value, what)
    elif isinstance(value, int):
        result = value * 1_000_000
    elif isinstance(value, float):
        if not math.isfinite(value):
            raise _unreadable(value, what)
        result = round(value * 1_000_000)
    elif isinstance(value, str):
        result = _parse(value, what)
    else:
        raise _unreadable(value, what)
    if abs(result) > FOREVER:
        raise PlanError(
            "MS101",
            f"{what} {value!r} is longer than time itself",
            fix="use at most 290,000 years",
        )
    return result


def positive(value: Duration, *, what: str) -> int:
    """The duration in microseconds, refused unless it is longer than nothing."""
    result = microseconds(value, what=what)
    if result <= 0:
        raise PlanError(
            "MS101",
            f"{what} must be longer than zero, but is {value!r}",
            fix=f"give a length of time above zero: {type_of_duration}",
        )
    return result


def not_negative(value: Duration, *, what: str) -> int:
    """The duration in microseconds, refused if it is negative."""
    result = microseconds(value, what=what)
    if result < 0:
        raise PlanError(
            "MS101",
            f"{what} must not be negative, but is {value!r}",
            fix=f"give zero or more: {type_of_duration}",
        )
    return result


def format_duration(us: int) -> str:
    """The shortest text that reads back as the same duration.

    >>> format_duration(5_400_000_000), format_duration(1_500), format_duration(0)
    ('1h30m', '1ms500us', '0s')
    """
    sign, rest, text = ("-" if us < 0 else ""), abs(us), ""
    for unit, size in _UNITS.items():
        if unit == "w":  # days read better than weeks: '14d', not '2w'
            continue
        count, rest = divmod(rest, size)
        text += f"{count}{unit}" if count else ""
    return sign + (text or "0s")


def _parse(text: str, what: str) -> int:
    body = text.strip()
    sign = -1 if body.startswith("-") else 1
    body = body.removeprefix("-")
    total, position = 0, 0
    while position < len(body):
        match = _PART.match(body, position)
        if match is None:
            raise _unreadable(text, what)
        number, unit = match.groups()
        total += _scaled(number, _UNITS["us" if unit == "µs" else unit])
        position = match.end()
    if not position:
        raise _unreadable(text, what)
    return sign * total


def _scaled(number: str, unit: int) -> int:
    whole, _, fraction = number.partition(".")
    return int(whole) * unit + (int(fraction) * unit // 10 ** len(fraction) if fraction else 0)


def _unreadable(value: object, what: str) -> PlanError:
    meant = _in_words(value) if isinstance(value, str) else None
    hint = "" if meant is None else f"did you mean {meant!r}? "
    return PlanError(
        "MS101",
        f"{what} {value!r} is not a length of time",
        fix=f"{hint}{'Write' if hint else 'write'} {type_of_duration}",
    )


def _in_words(text: str) -> str | None:
    """The duration that somebody means who writes units as words, or leaves seconds out.

    >>> _in_words("1 hour 30 Minutes"), _in_words("5"), _in_words("a while")
    ('1h30m', '5s', None)
    """
    if re.fullmatch(r"[0-9]+(\.[0-9]+)?", text.strip()):
        return f"{text.strip()}s"
    units = {word: unit for unit, words in _WORDS.items() for word in words.split()}
    short = re.sub(
        r"[^\W\d_]+", lambda word: units.get(word[0].lower().removesuffix("s"), word[0]), text
    )
    short = re.sub(r",|\band\b", " ", short)
    if not re.fullmatch(rf"\s*-?(?:{_PART.pattern})+\s*", short):
        return None
    return format_duration(_parse(short, "duration"))
