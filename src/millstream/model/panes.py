"""The results of windows, and late elements."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, Literal

Timing = Literal["EARLY", "ON_TIME", "LATE"]
Kind = Literal["+", "-"]
LateReason = Literal["expired", "closed", "no window", "behind"]


@dataclass(frozen=True, slots=True)
class Pane:
    """One result of one key and window; times are seconds since 1970-01-01 UTC.

    ``values`` are the elements of the pane, sorted, or the aggregate's value. ``kind`` is ``"-"``
    if the pane retracts an earlier one. ``step`` is the index of the replay step that emitted it,
    ``timestamp`` its event time for the next grouping. ``window_index`` counts the windows of a
    key, where the order of its rows makes them.
    """

    key: Any
    window: tuple[float, float]
    values: Any
    timing: Timing
    index: int
    first: bool
    last: bool
    kind: Kind = "+"
    step: int = 0
    timestamp: float = field(default=math.nan, compare=False, repr=False)
    window_index: int | None = field(default=None, repr=False)

    @property
    def value(self) -> Any:
        """The aggregate's value: the same as ``values``, which reads better for one."""
        return self.values


@dataclass(frozen=True, slots=True)
class LateElement:
    """An element that a window did not accept any more, and why.

    ``expired``: the watermark had passed the window's end and the allowed lateness.
    ``closed``: the window's trigger had finished.
    ``no window``: the element is between sliding windows (``window`` is None).
    ``grouping`` names the step of a pipeline that found it late.
    """

    key: Any
    value: Any
    time: float
    window: tuple[float, float] | None
    reason: LateReason
    step: int = 0
    grouping: str | None = field(default=None, compare=False, repr=False)
