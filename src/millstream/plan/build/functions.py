"""What a user's function gives: its schema, from an argument or from its type hints."""

from __future__ import annotations

import collections.abc
import typing
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, NamedTuple, get_args, get_origin

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Function,
    KeyFunction,
    Node,
    OnError,
    Rejected,
    Select,
    SideOutput,
    Sink,
    Source,
    Stateful,
    Union,
    WithColumns,
    unknown_kind,
    walk,
)
from millstream.plan.targets import Each
from millstream.plan.types.schema import Schema


def result_schema(function: Callable[..., Any], shape: str, schema: Any) -> Schema:
    """The schema of the rows that the function gives."""
    if schema is not None:
        return Schema.of(schema)
    from millstream.plan.types.schema_reading import is_record

    hint = result_hint(function)
    record = hint if shape == "map" else _item(hint)
    if is_record(record):
        return Schema.of(record)
    hinted = "nothing" if hint is None else f"only {getattr(hint, '__name__', hint)!r}"
    raise PlanError(
        "MS116",
        f"{function_name(function)} declares {hinted} about the columns of its result",
        fix=f"give {shape}(…, schema='user string, points int'), say, or annotate it with a "
        f"dataclass or TypedDict: -> {'Score' if shape == 'map' else 'Iterator[Score]'}",
    )


class UserFunction(NamedTuple):
    """A function of the user: the step that runs it, what a message calls it, and itself."""

    step: str
    name: str
    function: Callable[..., Any]


def user_functions(*outputs: Node) -> Iterator[UserFunction]:
    """All functions of a program that run where its rows are: on Spark, in workers."""
    for node in walk(*outputs):
        match node:
            case Function():
                yield UserFunction(node.name, function_name(node.function), node.function)
            case Stateful():
                for _, key in (named for port in node.ports for named in port.keys):
                    if isinstance(key, KeyFunction):
                        name = f"the key function {function_name(key.function)}"
                        yield UserFunction(node.name, name, key.function)
                for name, function in node.functions:
                    yield UserFunction(node.name, name, function)
            case Sink(target=Each(function=function, table=None)):
                yield UserFunction(node.name, function_name(function), function)
            case Source() | Union() | SideOutput() | Rejected() | Sink():
                pass
            case EventTime() | Filter() | Select() | WithColumns():
                pass
            case _:
                raise unknown_kind(node)


def key_function(function: Callable[..., Any], type: Any) -> KeyFunction:
    """A function that makes keys, of the type that is given or that is its annotation."""
    from millstream.plan.types.schema_reading import python_type

    if type is not None:
        return KeyFunction(function, python_type(type))
    hint, name = result_hint(function), function_name(function)
    hinted = "nothing" if hint is None else f"only {getattr(hint, '__name__', hint)!r}"
    with suppress(PlanError):
        if hint is not None:
            return KeyFunction(function, python_type(hint))
    raise PlanError(
        "MS116",
        f"the key function {name} declares {hinted} about the type of its result",
        fix=f"say it: key_by({name if name.isidentifier() else '…'}, type='string'), or annotate "
        "the function: def key(row) -> str, or give an expression: key_by('team')",
    )


def result_hint(function: Callable[..., Any]) -> Any:
    """The type hint of what the function returns; None where there is none to read."""
    try:
        return typing.get_type_hints(function, include_extras=True).get("return")
    except (NameError, TypeError):
        return None


def function_name(function: Callable[..., Any]) -> str:
    """What a user would call the function.

    >>> function_name(len), function_name(lambda row: row)
    ('len', '<lambda>')
    """
    name = str(getattr(function, "__qualname__", function))
    return name.rpartition("<locals>.")[2]  # where a function was made does not help to find it


def checked_function(function: Any, shape: str) -> Callable[..., Any]:
    """A function, or an error."""
    if callable(function):
        return function  # type: ignore[no-any-return]
    raise PlanError(
        "MS113",
        f"{shape}() takes a function, not {function!r}",
        fix="give a function, or use with_columns(…) for an expression",
    )


def checked_on_error(value: Any) -> OnError:
    """One of the ways to treat a row on which a function raises."""
    choice: OnError = one_of(value, "on_error", get_args(OnError))
    return choice


def _item(hint: Any) -> Any:
    """What an iterable of the hinted type holds."""
    origin, args = get_origin(hint), get_args(hint)
    iterable = isinstance(origin, type) and issubclass(origin, collections.abc.Iterable)
    return args[0] if iterable and args else None
