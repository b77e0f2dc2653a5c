"""MS130: callbacks of a processor that would fail, or never run, as they are written."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from difflib import get_close_matches

from millstream.model.errors import PlanError
from millstream.model.processors import Processor, overrides, timers_of
from millstream.plan.build.functions import function_name

_CALLBACKS = [name for name in vars(Processor) if name.startswith("on_")]
_OF_ALL_TIMERS = ("now", "watermark")


def check_callbacks(processor: Processor) -> None:
    """Refuses callbacks that cannot be called, and timers that nothing handles.

    Some callbacks run for the first time long after a job began: this is when to find them.
    """
    for why, fix in _reasons(processor):
        raise PlanError("MS130", f"{function_name(type(processor))} {why}", fix=fix)


def _reasons(processor: Processor) -> Iterator[tuple[str, str]]:
    if not overrides(processor, "on_row") and not overrides(processor, "on_rows"):
        yield "does not say what happens for a row", f"write {_written('on_row')}"
    for name in _CALLBACKS:
        if overrides(processor, name):
            yield from _reasons_of(processor, name)
    for name in dir(processor):
        close = get_close_matches(name, _CALLBACKS, n=1, cutoff=0.85)
        if name.startswith("on_") and name not in _CALLBACKS and close:
            fix = f"write {_written(close[0])}, or give {name} a name that is not so similar"
            yield f"has {name}, which nothing calls", fix
    timers = timers_of(processor)
    if timers and not overrides(processor, "on_timer"):
        yield (
            f"has the timer {next(iter(timers))!r}, and no on_timer",
            (f"write {_written('on_timer')}, or leave out the timer"),
        )
    for name in timers:
        if name in _OF_ALL_TIMERS or name.startswith("_"):
            yield (
                f"has a timer with the name {name!r}, which timers cannot have",
                ("give it another name: silent = ms.timer('processing_time')"),
            )


def _reasons_of(processor: Processor, name: str) -> Iterator[tuple[str, str]]:
    callback = getattr(processor, name)
    if inspect.isgeneratorfunction(callback):
        yield f"has yield in {name}, whose rows would be lost", "emit rows: out.emit(…)"
    if inspect.iscoroutinefunction(callback) or inspect.isasyncgenfunction(callback):
        yield f"has an async {name}, which nothing would await", f"write {_written(name)}"
    given = len(inspect.signature(getattr(Processor, name)).parameters) - 1
    try:
        inspect.signature(callback).bind(*[None] * given)
    except TypeError as error:
        yield f"has {name}{inspect.signature(callback)}: {error}", f"write {_written(name)}"


def _written(name: str) -> str:
    return f"def {name}({', '.join(inspect.signature(getattr(Processor, name)).parameters)})"
