"""The steps of a replay: elements, watermarks and the clock."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

from millstream.model.errors import TestingError
from millstream.model.instants import END_OF_TIME, Instant, instant, seconds


@dataclass(frozen=True, slots=True, init=False)
class Elements:
    """One bundle: elements that arrive together, each ``(key, value, event time)``.

    Triggers are evaluated once, after the whole bundle. For a pipeline, ``replay(stream, …)``, the
    elements are rows of the source, such as dicts; ``source`` names it.

    >>> Elements([("k", 1, 3.0), ("k", 2, 7.5)])
    Elements([('k', 1, 3.0), ('k', 2, 7.5)])
    """

    items: tuple[Any, ...]
    source: str | None = None

    def __init__(self, items: Iterable[Any], source: str | None = None) -> None:
        object.__setattr__(self, "items", tuple(items))
        object.__setattr__(self, "source", source)

    def __repr__(self) -> str:
        source = "" if self.source is None else f", source={self.source!r}"
        return f"Elements({list(self.items)!r}{source})"

    def triples(self) -> list[tuple[Any, Any, int]]:
        """The elements as key, value and event time in microseconds."""
        return [_triple(item) for item in self.items]


@dataclass(frozen=True, slots=True)
class Watermark:
    """The watermark moves: all elements before ``time`` have arrived. It never moves back.

    >>> Watermark(10), Watermark.end()
    (Watermark(10.0), Watermark.end())
    """

    time: Instant
    source: str | None = None
    us: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        end = isinstance(self.time, float) and self.time == seconds(END_OF_TIME)
        us = END_OF_TIME if end else instant(self.time, what="watermark")
        object.__setattr__(self, "us", us)

    @classmethod
    def end(cls, source: str | None = None) -> Watermark:
        """The input has ended: everything has arrived."""
        return cls(seconds(END_OF_TIME), source)

    def __repr__(self) -> str:
        source = "" if self.source is None else f"source={self.source!r}"
        if self.us == END_OF_TIME:
            return f"Watermark.end({source})"
        return f"Watermark({seconds(self.us)}{', ' if source else ''}{source})"


@dataclass(frozen=True, slots=True)
class ProcessingTime:
    """The clock moves to ``time``. It starts at 0 and never moves back.

    >>> ProcessingTime(12)
    ProcessingTime(12.0)
    """

    time: Instant
    us: int = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "us", instant(self.time, what="processing time"))

    def __repr__(self) -> str:
        return f"ProcessingTime({seconds(self.us)})"


Step = Elements | Watermark | ProcessingTime


def checked_steps(steps: Iterable[Any]) -> list[Step]:
    """The steps as a list; an error if one of them is something else."""
    checked = list(steps)
    for i, step in enumerate(checked):
        if not isinstance(step, Step):
            raise TestingError(
                "MS301",
                f"step {i} is {step!r}, which is no step",
                fix="give Elements([…]), Watermark(…) or ProcessingTime(…)",
            )
    return checked


def _triple(item: Any) -> tuple[Any, Any, int]:
    try:
        key, value, time = item
    except (TypeError, ValueError):
        raise TestingError(
            "MS301", f"{item!r} is no element", fix="write (key, value, event time)"
        ) from None
    return key, value, instant(time, what="event time")
