"""Where the rows of a key go by their order: an object for each kind of such windows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any

from millstream.model.ordered_windows import Count, Delta, Marked
from millstream.model.windows import Window
from millstream.reference.elements import Element


class Sequence(ABC):
    """The windows of one key. Those whose indexes are below ``ended`` have ended."""

    def __init__(self) -> None:
        self.ended = 0

    @abstractmethod
    def place(self, element: Element) -> range:
        """The indexes of the windows that the next row is in."""

    def restart(self, ended: int) -> None:
        """All windows below ``ended`` have ended, complete or not; the next row begins another."""
        self.ended = ended


class CountSequence(Sequence):
    """Counts the rows since a window was complete."""

    def __init__(self, kind: Count) -> None:
        super().__init__()
        self.kind = kind
        self.rows = 0

    def place(self, element: Element) -> range:
        size, slide = self.kind.size, self.kind.slide
        found = range(self.ended, self.ended + (self.rows + size) // slide)
        self.rows += 1
        if self.rows == slide:
            self.rows, self.ended = 0, self.ended + 1
        return found

    def restart(self, ended: int) -> None:
        super().restart(ended)
        self.rows = 0


class DeltaSequence(Sequence):
    """Knows the attribute of the first row of the window that has one."""

    def __init__(self, kind: Delta) -> None:
        super().__init__()
        self.kind = kind
        self.first: float | None = None

    def place(self, element: Element) -> range:
        value = None if element.attribute is None else float(element.attribute)
        if value is not None and not math.isnan(value):
            if self.first is None:
                self.first = value
            elif abs(value - self.first) >= self.kind.threshold:
                self.first, self.ended = value, self.ended + 1
        return range(self.ended, self.ended + 1)

    def restart(self, ended: int) -> None:
        super().restart(ended)
        self.first = None


class MarkedSequence(Sequence):
    """A row that is marked ends its window."""

    def __init__(self, kind: Marked) -> None:
        super().__init__()

    def place(self, element: Element) -> range:
        found = range(self.ended, self.ended + 1)
        self.ended += 1 if element.attribute else 0
        return found


_SEQUENCES: dict[type[Window], Callable[[Any], Sequence]] = {
    Count: CountSequence,
    Delta: DeltaSequence,
    Marked: MarkedSequence,
}


def sequence_of(kind: Window) -> Sequence:
    """The windows of a new key."""
    if type(kind) not in _SEQUENCES:
        raise TypeError(f"an unknown kind of windows: {kind!r}")
    return _SEQUENCES[type(kind)](kind)
