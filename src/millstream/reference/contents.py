"""What one window of one key holds."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import Any

from millstream.model.windowing import Timestamp
from millstream.model.windows import Interval
from millstream.reference.elements import Element, Emission
from millstream.reference.ordering import ordering
from millstream.reference.triggers import Machine


@dataclass(slots=True)
class WindowState:
    """Elements, trigger and pane history of one key and window.

    ``kept`` were in a pane already, ``new`` came since the last firing; ``arrivals`` are the
    watermarks at which the new ones came. ``emitted`` are the panes that a retracting grouping
    has not taken back, in the order of their windows: its own last one and, after a merge, those of
    the merged-away windows. A window that the order of rows makes has ``opened`` at a clock time,
    and ``ended`` when its rows are complete.
    """

    key: Any
    window: Interval
    machine: Machine
    stamp: Timestamp
    closed: bool = False
    kept: list[Element] = field(default_factory=list)
    new: list[Element] = field(default_factory=list)
    arrivals: list[int] = field(default_factory=list)
    stamps: list[int] = field(default_factory=list)
    emitted: list[Emission] = field(default_factory=list)
    index: int = 0
    opened: int = 0
    ended: bool = False

    def add(self, element: Element, watermark: int) -> None:
        self.new.append(element)
        self.arrivals.append(watermark)
        if element.time >= watermark:
            self.stamps.append(element.time)  # late elements do not move the timestamp (§7)

    def take_over(self, other: WindowState) -> None:
        """Merges another window's contents into this one; its pane history ends there (§14, 9)."""
        self.kept += other.kept
        self.new += other.new
        self.arrivals += other.arrivals
        self.stamps += other.stamps
        self.emitted += other.emitted

    def fired(self, discard: bool) -> None:
        """What was new has been emitted."""
        self.kept = [] if discard else self.contents()
        self.new, self.arrivals, self.stamps = [], [], []

    def contents(self) -> list[Element]:
        """All elements, less those that were taken back.

        A retraction without its element stays: in a discarding grouping it takes back
        what an earlier pane held, and sums and counts subtract it.
        """
        everything = self.kept + self.new
        if all(element.kind == "+" for element in everything):
            return everything
        left: dict[tuple[Any, ...], list[Element]] = {}
        for element in everything:
            alike = left.setdefault((element.time, ordering(element.value)), [])
            if alike and alike[-1].kind != element.kind:
                alike.pop()
            else:
                alike.append(element)
        return [element for alike in left.values() for element in alike]

    def timestamp(self) -> int:
        """The event time that a pane emitted now carries."""
        if self.stamp == "earliest" and self.stamps:
            return min(self.stamps)
        if self.stamp == "latest" and self.stamps:
            return max(self.stamps)
        return self.window.end - 1

    @property
    def came_before_the_end(self) -> bool:
        """Whether something new came before the watermark passed the window's end."""
        return any(arrived < self.window.end for arrived in self.arrivals)

    def owed(self) -> Iterator[int]:
        """The event times of retractions for merged-away windows, which are sure to come."""
        yield from (e.timestamp for e in self.emitted if e.window != self.window)
