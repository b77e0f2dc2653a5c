"""Reads the values of the model from their own text, such as ``fixed('2m')``.

Only calls of the model's functions on literals are understood: a transcript cannot run code.
"""

from __future__ import annotations

import ast
from collections.abc import Callable
from typing import Any

from millstream.model import (
    aggregates,
    clock_windows,
    ordered_windows,
    refinements,
    triggers,
    windows,
)
from millstream.model.errors import PlanError, TestingError, did_you_mean


def _by_name(*functions: Callable[..., Any]) -> dict[str, Any]:
    return {function.__name__: function for function in functions}


WINDOWS = _by_name(
    *(windows.fixed, windows.sliding, windows.session, windows.global_window, windows.calendar),
    clock_windows.processing_time,
    *(ordered_windows.count_window, ordered_windows.delta_window),
    ordered_windows.punctuated_window,
)
TRIGGERS = _by_name(
    *(triggers.at_watermark, triggers.after_count, triggers.after_delay, triggers.every),
    *(triggers.repeatedly, triggers.first_of, triggers.all_of, triggers.in_order, triggers.never),
)
REFINEMENTS = {refinement.value: refinement for refinement in refinements.Refinement}
AGGREGATES = _by_name(
    *(aggregates.count, aggregates.sum, aggregates.min, aggregates.max, aggregates.mean),
    *(aggregates.variance, aggregates.stddev, aggregates.first, aggregates.last),
    *(aggregates.any_value, aggregates.collect, aggregates.collect_set),
    *(aggregates.count_distinct, aggregates.approx_distinct, aggregates.top),
    *(aggregates.quantile, aggregates.approx_quantile),
)


def read_call(text: Any, names: dict[str, Any]) -> Any:
    """The value of ``text``, with the names that it may use.

    A bare name that is not known is text: ``sum(value)`` is ``sum('value')``.

    >>> read_call("at_watermark(early=after_count(2))", TRIGGERS)
    at_watermark(early=after_count(2))
    """
    if not isinstance(text, str):
        raise _unreadable(text, "it is no text")
    try:
        return _value(ast.parse(text, mode="eval").body, names)
    except SyntaxError:
        raise _unreadable(text, "it is no call") from None
    except PlanError as error:
        raise TestingError("MS301", f"{text!r}: {error.what}", fix=error.fix) from error
    except TypeError as error:
        raise _unreadable(text, str(error)) from None


def _value(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.Constant(value):
            return value
        case ast.UnaryOp(ast.USub(), ast.Constant(value)) if isinstance(value, int | float):
            return -value
        case ast.Name(name) if name in names:
            raise _unreadable(name, "it is not called")
        case ast.Name(name):
            return name
        case ast.Call(function, arguments, keywords):
            positional = [_value(argument, names) for argument in arguments]
            named = {str(k.arg): _value(k.value, names) for k in keywords}
            return _callee(function, names)(*positional, **named)
    raise _unreadable(ast.unparse(node), "only calls and literals are read")


def _callee(node: ast.expr, names: dict[str, Any]) -> Any:
    match node:
        case ast.Name(name) if callable(names.get(name)):
            return names[name]
        case ast.Name(name):
            raise TestingError(
                "MS301", f"{name!r} is not known here", fix=did_you_mean(name, names)
            )
        case ast.Attribute(main, "or_finally"):
            trigger = _value(main, names)
            if isinstance(trigger, triggers.Trigger):
                return trigger.or_finally
    raise _unreadable(ast.unparse(node), "this cannot be called")


def _unreadable(text: Any, why: str) -> TestingError:
    return TestingError(
        "MS301",
        f"{text!r} cannot be read: {why}",
        fix="write a call as in a program, such as fixed('2m') or at_watermark()",
    )
