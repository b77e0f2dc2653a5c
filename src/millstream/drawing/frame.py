"""One panel's place on the paper, and where both times fall in it."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.drawing.extent import Extent

GUTTER = 48.0
"""The width at an edge for what is far outside the extent."""


@dataclass(frozen=True, slots=True)
class Rect:
    """Pixels, from the left and from the top."""

    left: float
    top: float
    right: float
    bottom: float

    @property
    def width(self) -> float:
        return self.right - self.left

    @property
    def height(self) -> float:
        return self.bottom - self.top

    def grown(self, by: float) -> Rect:
        """Wider and higher by so much on each side."""
        return Rect(self.left - by, self.top - by, self.right + by, self.bottom + by)

    def overlap(self, other: Rect) -> float:
        """The area that both cover.

        >>> Rect(0, 0, 4, 4).overlap(Rect(2, 3, 9, 9))
        2
        """
        width = min(self.right, other.right) - max(self.left, other.left)
        height = min(self.bottom, other.bottom) - max(self.top, other.top)
        return width * height if width > 0 and height > 0 else 0


@dataclass(frozen=True, slots=True)
class Span:
    """Where a window is in the panel, and on which sides it continues beyond it."""

    left: float
    right: float
    open_left: bool = False
    open_right: bool = False


@dataclass(frozen=True, slots=True)
class Frame:
    """Maps event time across and processing time up into a rectangle of the paper.

    >>> frame = Frame(Rect(100, 50, 300, 150), Extent(0, 10), low=0, high=5)
    >>> frame.x(5), frame.y(5), frame.span((0, float("inf")))
    (200.0, 50.0, Span(left=100.0, right=300, open_left=False, open_right=True))
    """

    rect: Rect
    extent: Extent
    low: float
    high: float

    @property
    def left(self) -> float:
        return self.rect.left + (GUTTER if self.extent.before else 0)

    @property
    def right(self) -> float:
        return self.rect.right - (GUTTER if self.extent.after else 0)

    def x(self, time: float) -> float:
        """Across: what is outside the extent is in the middle of the gutter."""
        low, high = self.extent.low, self.extent.high
        if time < low:
            return (self.rect.left + self.left) / 2
        if time > high:
            return (self.right + self.rect.right) / 2
        return self.left + (time - low) / (high - low) * (self.right - self.left)

    def y(self, at: float) -> float:
        """Up: later is higher."""
        part = (at - self.low) / (self.high - self.low)
        return self.rect.bottom - part * self.rect.height

    def span(self, window: tuple[float, float]) -> Span:
        """A window, cut at the panel's edges."""
        start, end = window
        low, high = self.extent.low, self.extent.high
        if start > high:
            return Span(self.right + 4, self.rect.right - 4)
        if end < low:
            return Span(self.rect.left + 4, self.left - 4)
        left = self.rect.left if start < low else self.x(start)
        right = self.rect.right if end > high else self.x(end)
        return Span(left, right, start < low, end > high)
