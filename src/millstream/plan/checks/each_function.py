"""MS113: a function that rows are handed to takes them, the number of the batch and the slice."""

from __future__ import annotations

from collections.abc import Callable
from inspect import signature
from typing import Any

from millstream.model.errors import PlanError
from millstream.plan.build.functions import function_name


def checked_each(function: Any) -> Callable[[Any, int, int], Any]:
    """A function of three arguments: otherwise the first batch would be the one to find out."""
    if not callable(function):
        raise PlanError(
            "MS113",
            f"write_each() takes a function, not {function!r}",
            fix="give a function of three arguments: def save(rows, batch, slice)",
        )
    try:
        parameters = signature(function)
    except (TypeError, ValueError):  # some functions in C have no signature
        return function  # type: ignore[no-any-return]
    try:
        parameters.bind([], 0, 0)
    except TypeError:
        name = function_name(function)
        raise PlanError(
            "MS113",
            f"write_each() calls {name}(rows, batch, slice), but {name} takes {parameters}",
            fix="give it those three arguments",
        ) from None
    return function  # type: ignore[no-any-return]
