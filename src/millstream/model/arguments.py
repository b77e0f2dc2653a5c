"""Arguments as a program gives them: one of several words, whole numbers, and how to write them."""

from __future__ import annotations

import re
from typing import Any, TypeVar

from millstream.model.errors import PlanError, did_you_mean

_T = TypeVar("_T")


def one_of(given: object, name: str, choices: tuple[_T, ...], otherwise: str = "") -> _T:
    """The choice that is given for the argument ``name``; ``otherwise`` ends the advice.

    >>> one_of("reject", "on_error", ("fail", "reject", "drop"))
    'reject'
    >>> one_of("rejects", "on_error", ("fail", "reject", "drop"))
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS113: on_error='rejects' is not a choice
      What to do: did you mean 'reject'? There are: fail, reject, drop
      More: millstream help MS113
    """
    for choice in choices:
        if given == choice:
            return choice
    fix = did_you_mean(str(given), map(str, choices)) + otherwise
    raise PlanError("MS113", f"{name}={given!r} is not a choice", fix=fix)


def checked_count(value: Any, what: str, example: int, most: int | None = None) -> int:
    """The number, if it is a whole one from 1 (to ``most``); ``what`` names the argument.

    >>> checked_count(9999, "port", example=9999, most=65535)
    9999
    """
    whole = isinstance(value, int) and not isinstance(value, bool)
    if whole and value >= 1 and (most is None or value <= most):
        return int(value)
    limit = "1 or more" if most is None else f"from 1 to {most}"
    raise PlanError(
        "MS113",
        f"{what}={value!r}: it must be a whole number, {limit}",
        fix=f"give one, such as {what}={example}",
    )


def as_code(value: object) -> str:
    """A value of the model as a program writes it: errors suggest code that can be pasted.

    >>> from millstream.model.triggers import after_count, at_watermark, repeatedly
    >>> as_code(repeatedly(after_count(5)).or_finally(at_watermark()))
    'ms.repeatedly(ms.after_count(5)).or_finally(ms.at_watermark())'
    """
    return re.sub(r"(?<![\w.'])([a-z_]+\()", r"ms.\1", repr(value))
