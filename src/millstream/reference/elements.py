"""What flows into a grouping and out of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from millstream.model.panes import Kind, LateReason, Timing
from millstream.model.windows import Interval


@dataclass(frozen=True, slots=True)
class Element:
    """A value at an event time; kind ``"-"`` takes back an equal one of the same time.

    The ``attribute`` says which windows it is in, where these depend on more than its time.
    """

    value: Any
    time: int
    kind: Kind = "+"
    attribute: Any = field(default=None, compare=False)


@dataclass(frozen=True, slots=True)
class PaneInfo:
    """Which pane of its window this is."""

    timing: Timing
    index: int
    first: bool
    last: bool


@dataclass(frozen=True, slots=True)
class Emission:
    """A pane, or the retraction of one.

    A retraction has the window, value and timestamp of the pane that it takes back;
    ``info`` is that of the pane that it makes way for, ``taken_back`` that of the old one.
    """

    key: Any
    window: Interval
    value: Any
    info: PaneInfo
    kind: Kind
    timestamp: int
    taken_back: PaneInfo | None = None


@dataclass(frozen=True, slots=True)
class Late:
    """An element that a window could not take, and why."""

    key: Any
    element: Element
    window: Interval | None
    reason: LateReason
