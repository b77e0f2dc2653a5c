"""Windows that the order of a key's rows makes: they are counted, and end by their rows."""

from __future__ import annotations

import math
from dataclasses import dataclass
from decimal import Decimal

from millstream.model.arguments import checked_count
from millstream.model.durations import Duration, format_duration, positive
from millstream.model.errors import PlanError
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
    def attribute(self) -> str | None:
        """What is computed of each row to know its window, in SQL."""
        return None

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


@dataclass(frozen=True, slots=True, repr=False)
class Delta(Ordered):
    """A new window each time that an attribute has moved since the first row of the last one."""

    column: str
    threshold: float

    @property
    def attribute(self) -> str | None:
        return self.column

    def __repr__(self) -> str:
        return f"delta_window({self.column!r}, {self.threshold!r}{_flush(self)})"


@dataclass(frozen=True, slots=True, repr=False)
class Marked(Ordered):
    """Windows that end with a row that is marked."""

    condition: str

    @property
    def attribute(self) -> str | None:
        return self.condition

    def __repr__(self) -> str:
        return f"punctuated_window({self.condition!r}{_flush(self)})"


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


def delta_window(column: str, threshold: float | Decimal, flush: Duration = "end") -> Delta:
    """A new window when ``column`` has moved by ``threshold`` or more since the window's first row.

    ``column`` is a number, or an expression that is one. The row that has moved is the first of
    the new window. A null joins the window that there is. The last window of a key ends with the
    input, or by ``flush``, as in ``count_window``.

    >>> delta_window("temperature", 0.5)
    delta_window('temperature', 0.5)
    """
    threshold = float(threshold) if isinstance(threshold, Decimal) else threshold
    number = isinstance(threshold, int | float) and not isinstance(threshold, bool)
    if not number or not 0 < threshold < math.inf:
        raise PlanError(
            "MS123",
            f"delta_window({column!r}, {threshold!r}): the threshold must be a number above zero",
            fix=f"give one, such as ms.delta_window({column!r}, 0.5)",
        )
    return Delta(_checked_sql(column, "delta_window"), threshold, flush=_checked_flush(flush))


def punctuated_window(condition: str, flush: Duration = "end") -> Marked:
    """Windows that end with a row for which ``condition`` is true; that row is in the window.

    ``condition`` is a boolean column, or an expression that is one. A null is not true. The last
    window of a key ends with the input, or by ``flush``, as in ``count_window``.

    >>> punctuated_window("action = 'logout'")
    punctuated_window("action = 'logout'")
    """
    return Marked(_checked_sql(condition, "punctuated_window"), flush=_checked_flush(flush))


def _checked_sql(value: object, function: str) -> str:
    if isinstance(value, str) and value.strip():
        return value
    raise PlanError(
        "MS123",
        f"{function}({value!r}): that is no column and no expression",
        fix=f"give the name of a column or SQL, such as ms.{function}('column')",
    )


def _checked_flush(value: Duration) -> int | None:
    """The delay in microseconds; None: what is incomplete waits for the end of the input."""
    return None if value == "end" else positive(value, what="flush")


def _flush(window: Ordered) -> str:
    return "" if window.flush is None else f", flush={format_duration(window.flush)!r}"
