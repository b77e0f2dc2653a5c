"""How users' functions travel to Spark's workers: as bytes, with all that they use.

MS121: what cannot be made bytes is found before a job starts, in the function that uses it.
"""

from __future__ import annotations

import functools
import io
import sys
from collections import ChainMap
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import suppress
from sysconfig import get_paths
from types import CodeType, FunctionType, MethodType, ModuleType
from typing import Any

from millstream.model.errors import PlanError
from millstream.plan.build.functions import UserFunction
from millstream.spark.compat.pickler import Pickler, pickled_by_value

_CACHED = type(functools.cache(len))
_Reduced = str | tuple[Any, ...]


def pickled(value: Any) -> bytes:
    """The bytes that a worker makes the value of again.

    A function with ``@functools.cache`` travels like any other, and each worker has its own cache:
    so it can open what cannot travel, once for each worker.
    """
    buffer = io.BytesIO()
    _Pickler(buffer).dump(value)  # type: ignore[no-untyped-call]
    return buffer.getvalue()


def _reduced(cached: Any) -> _Reduced:
    by_value = cached.__module__ in ("__main__", *pickled_by_value())
    if not by_value and "<locals>" not in cached.__qualname__:
        return str(cached.__qualname__)  # a worker imports it
    settings = cached.cache_parameters()
    return _cached_again, (cached.__wrapped__, settings["maxsize"], settings["typed"])


def _cached_again(function: Callable[..., Any], most: int | None, typed: bool) -> Any:
    return functools.lru_cache(most, typed)(function)


class _Pickler(Pickler):
    """Spark's own, which takes a cached function for one that workers can import."""

    dispatch_table = ChainMap(  # noqa: RUF012 - of all picklers, as in the class that it is of
        {_CACHED: _reduced}, Pickler.dispatch_table
    )


def check_functions(used: Iterable[UserFunction]) -> None:
    """Refuses a function that cannot travel, and names what it uses that cannot.

    >>> import threading
    >>> lock = threading.Lock()
    >>> check_functions([UserFunction("map-1", "double", lambda row: lock and row)])
    Traceback (most recent call last):
        ...
    millstream.model.errors.PlanError: MS121 in step 'map-1': double cannot be sent to Spark's \
workers: it uses 'lock', a _thread.lock, which cannot be pickled
      What to do: make it where it is used: inside the function, or in a function of its own with \
@functools.cache that this one calls, which then runs once in each worker
      More: millstream help MS121
    """
    for step, name, function in used:
        error = _refusal(function)
        if error is not None:
            path, part = _culprit(function, "", set()) or ("", function)
            uses = f"uses {path!r}," if path else "is"
            raise PlanError(
                "MS121",
                f"{name} cannot be sent to Spark's workers: it {uses} {_kind(part)}, which cannot "
                "be pickled",
                fix=_fix(part),
                step=step,
            ) from error


def _refusal(value: Any) -> Exception | None:
    try:
        pickled(value)
    except Exception as error:  # a class says in its own way that it cannot be pickled
        return error
    return None


def _fix(part: Any) -> str:
    if type(part).__module__.startswith(("pyspark.", "py4j.")):
        return "leave Spark's own objects out of functions: collect what the function needs before"
    return (
        "make it where it is used: inside the function, or in a function of its own with "
        "@functools.cache that this one calls, which then runs once in each worker"
    )


def _kind(part: Any) -> str:
    kind = type(part)
    name = kind.__qualname__
    return f"a {name if kind.__module__ == 'builtins' else f'{kind.__module__}.{name}'}"


def _culprit(value: Any, path: str, seen: set[int]) -> tuple[str, Any] | None:
    """The innermost part of a value that cannot be pickled, and how the value gets to it."""
    seen.add(id(value))
    for name, part in _parts(value, path):
        if id(part) not in seen and not isinstance(part, ModuleType) and _refusal(part):
            return _culprit(part, name, seen) or (name, part)
    return None


def _parts(value: Any, path: str) -> Iterator[tuple[str, Any]]:
    """What a value is made of, under the names by which a program knows it."""
    match value:
        case FunctionType():
            for name, cell in zip(value.__code__.co_freevars, value.__closure__ or (), strict=True):
                with suppress(ValueError):  # nothing is in it yet
                    yield name, cell.cell_contents
            around = value.__globals__
            yield from ((n, around[n]) for n in _names(value.__code__) if n in around)
            yield from (("a default value", each) for each in value.__defaults__ or ())
            yield from (value.__kwdefaults__ or {}).items()
        case MethodType():
            yield "self", value.__self__
        case functools.partial():
            yield path, value.func
            yield from (("an argument", each) for each in value.args)
            yield from value.keywords.items()
        case _CACHED():
            yield path, value.__wrapped__
        case Mapping():
            yield from ((f"{path}[{key!r}]", each) for key, each in value.items())
        case list() | tuple() | set() | frozenset():
            yield from ((f"{path}[{i}]", each) for i, each in enumerate(value))
        case _ if not _installed(type(value)):
            owner = path or "self"
            attributes = getattr(value, "__dict__", {})
            yield from ((f"{owner}.{name}", each) for name, each in attributes.items())


def _installed(kind: type) -> bool:
    """Whether a library defines the class: of its objects, users know only that they have them."""
    file = getattr(sys.modules.get(kind.__module__), "__file__", None) or ""
    return file.startswith(tuple(get_paths()[each] for each in ("stdlib", "purelib", "platlib")))


def _names(code: CodeType) -> Iterator[str]:
    """The names that a function looks up, also in functions inside it."""
    yield from code.co_names
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _names(inner)
