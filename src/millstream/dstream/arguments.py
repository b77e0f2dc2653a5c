"""How users' functions are called, and what users write durations as."""

from __future__ import annotations

from inspect import Parameter, signature
from typing import Any

from millstream.dstream.graph.node import Function, unusable


def timed(function: Function, rdds: int) -> Function:
    """A function of a time and so many RDDs; the user's may be one of the RDDs alone.

    >>> timed(lambda rdd: rdd, 1)("noon", [1])
    [1]
    >>> timed(lambda time, rdd: (time, rdd), 1)("noon", [1])
    ('noon', [1])
    """
    count = _arguments(function)
    if count == rdds:
        return lambda _, *given: function(*given)
    if count not in (None, rdds + 1):
        raise unusable(
            f"the function takes {count} arguments",
            f"write one of {rdds} or {rdds + 1}: the RDDs, with the time before them or without it",
        )
    return function


def _arguments(function: Function) -> int | None:
    """How many arguments a function takes by position; None if any number."""
    try:
        parameters = signature(function).parameters.values()
    except ValueError:  # some builtins have none
        return None
    if any(each.kind is Parameter.VAR_POSITIONAL for each in parameters):
        return None
    return sum(each.kind is not Parameter.KEYWORD_ONLY for each in parameters)


def milliseconds(seconds: Any) -> int:
    """A duration in seconds, as users write it, in milliseconds.

    >>> milliseconds(1.5)
    1500
    """
    return int(seconds * 1000)


def check_window(length: int, slide: int, parent: int) -> None:
    """Raises unless the length of a window and its slide are multiples of the parent's slide."""
    for name, duration in (("windowDuration", length), ("slideDuration", slide)):
        if duration <= 0 or duration % parent:
            raise unusable(
                f"{name} is {duration} ms, which is no multiple of the parent DStream's slide"
                f" (batch) duration, {parent} ms",
                f"write a multiple of {parent / 1000} seconds",
            )
