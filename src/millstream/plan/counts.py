"""Whole numbers as a program gives them: how many, at most, of something."""

from __future__ import annotations

from typing import Any

from millstream.model.errors import PlanError


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
