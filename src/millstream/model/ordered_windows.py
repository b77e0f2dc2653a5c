"""Windows that the order of a key's rows makes: they are counted, and end by their rows."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.model.arguments import checked_count
from millstream.model.durations import Duration, format_duration, positive
from millstream.model.windows import Window


@dataclass(frozen=True, slots=True, kw_only=True)
class Ordered(Window):
    """Windows of a key's rows, in their order: by event time, then by where they came from.

    A window starts at the earliest event time of its rows, and ends a microsecond after the
    latest. What is incomplete is emitted when the input ends; and, with ``flush``, as soon as so
    much processing time has passed since the first row of a window arrived.
    """

    flush: int | None = None

    @property
    def by_time(self) -> bool:
        return False

    @property
    def ordered(self) -> bool:
        return True

    @property
    def uses_clock(self) -> bool:
        return self.flush is not None


@dataclass(frozen=True, slots=True, repr=False)
class Count(Ordered):
    """Windows of so many rows; with a smaller ``slide``, of the last rows, every few rows."""

    size: int
    slide: int

    def __repr__(self) -> str:
        slide = "" if self.slide == self.size else f", slide={self.slide}"
        return f"count_window({self.size}{slide}{_flush(self)})"


def count_window(n: int, slide: int | None = None, flush: Duration = "end") -> Count:
    """Windows of ``n`` rows of a key; with ``slide``, of its last ``n`` rows every ``slide`` rows.

    The first windows that slide have fewer rows, as those of ``sliding``. Windows that are not
    complete are emitted at the end of the input, and earlier if ``flush`` is a length of time:
    when so much processing time has passed since the window's first row arrived. Then the next row
    of the key begins a new window.

    >>> count_window(100)
    count_window(100)
    >>> count_window(100, slide=10, flush="1m")
    count_window(100, slide=10, flush='1m')
    """
    size = checked_count(n, "n", example=100)
    step = size if slide is None else checked_count(slide, "slide", example=10)
    return Count(size, step, flush=_checked_flush(flush))


def _checked_flush(value: Duration) -> int | None:
    """The delay in microseconds; None: what is incomplete waits for the end of the input."""
    return None if value == "end" else positive(value, what="flush")


def _flush(window: Ordered) -> str:
    return "" if window.flush is None else f", flush={format_duration(window.flush)!r}"
