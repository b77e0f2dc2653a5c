"""Elements as circles with their value; late ones are hollow and crossed."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, replace
from statistics import median

from millstream.drawing import ink
from millstream.drawing.boxes import Shape
from millstream.drawing.frame import Frame, Rect
from millstream.drawing.story import Dot
from millstream.drawing.ticks import Ticks
from millstream.drawing.words import shortened, wide

_SIZES = ((40, 10.5, 11.0), (110, 8.5, 9.0), (160, 7.0, 8.5), (400, 4.0, 0.0), (10**9, 2.5, 0.0))
"""By the number of elements in a panel: the radius, and the size of the value (0: none)."""
_LONGEST = 9
_SHARE = 0.4
_SMALLEST = 2.5
_STACKED = 8.5


@dataclass(frozen=True, slots=True)
class Spot:
    """An element's place in the picture."""

    dot: Dot
    x: float
    y: float
    radius: float
    width: float
    size: float

    @property
    def rect(self) -> Rect:
        half = self.width / 2
        return Rect(self.x - half, self.y - self.radius, self.x + half, self.y + self.radius)

    def draw(self, colour: str, times: Ticks) -> str:
        words = f"{self.dot.value} at {times.exact(self.dot.time)}"
        words += f", dropped: {self.dot.reason}" if self.dot.reason else ""
        return ink.tag(
            "g",
            ink.hint(words) + self._disc(colour) + self._value(colour),
            class_="element dropped" if self.dot.reason else "element",
        )

    def _disc(self, colour: str) -> str:
        fill, line = (ink.PAPER, colour) if self.dot.reason else (colour, ink.PAPER)
        if self.width <= 2 * self.radius:
            disc = ink.tag(
                "circle", cx=self.x, cy=self.y, r=self.radius, fill=fill, stroke=line,
                stroke_width=1.5 if self.size else 0.75,
            )  # fmt: skip
        else:
            rect = self.rect
            disc = ink.tag(
                "rect", x=rect.left, y=rect.top, width=rect.width, height=rect.height,
                rx=self.radius, fill=fill, stroke=line, stroke_width=1.5,
            )  # fmt: skip
        return disc + (cross(self.x, self.y, self.radius, colour) if self.dot.reason else "")

    def _value(self, colour: str) -> str:
        if not self.size:
            return ""
        dropped = bool(self.dot.reason)
        return ink.text(
            shortened(self.dot.value, _LONGEST), self.x, self.y + 0.36 * self.size, self.size,
            fill=colour if dropped else ink.PAPER, text_anchor="middle", font_weight=600,
            stroke=ink.PAPER if dropped else None, stroke_width=3 if dropped else None,
            paint_order="stroke" if dropped else None,
        )  # fmt: skip


def cross(x: float, y: float, radius: float, colour: str) -> str:
    """The line through a late element."""
    reach = 1.05 * radius
    return ink.tag(
        "line", x1=x - reach, y1=y + reach, x2=x + reach, y2=y - reach, stroke=colour,
        stroke_width=1.25,
    )  # fmt: skip


def spots_of(dots: Sequence[Dot], shapes: Sequence[Shape], frame: Frame) -> list[Spot]:
    """The places of the elements. Those that arrive together and would overlap are stacked."""
    usual = median([shape.rect.width for shape in shapes] or [frame.rect.width])
    spots: list[Spot] = []
    for most, radius, size in _SIZES:
        spots = [_spot(dot, radius, size, frame) for dot in dots]
        levels = _levels(spots)
        fits = radius <= max(_SMALLEST, _SHARE * usual)
        apart = not any(levels) or radius <= _STACKED
        if len(dots) <= most and fits and apart:
            break
    return [
        replace(spot, y=_level(spot, level, frame))
        for spot, level in zip(spots, _levels(spots), strict=True)
    ]


def _spot(dot: Dot, radius: float, size: float, frame: Frame) -> Spot:
    words = wide(shortened(dot.value, _LONGEST), size, bold=True) + 8 if size else 0
    x = min(max(frame.x(dot.time), frame.rect.left + 4), frame.rect.right - 4)
    return Spot(dot, x, frame.y(dot.at), radius, max(2 * radius, words), size)


def _levels(spots: Sequence[Spot]) -> list[float]:
    """How many circles each is moved up, so that no two of one moment touch."""
    moments: dict[float, list[int]] = defaultdict(list)
    for n, spot in enumerate(spots):
        if spot.size:
            moments[spot.y].append(n)
    levels = [0.0] * len(spots)
    for moment in moments.values():
        lanes: list[float] = []
        lane_of = {}
        for n in sorted(moment, key=lambda n: spots[n].x):
            rect = spots[n].rect
            lane = next((k for k, end in enumerate(lanes) if end <= rect.left), len(lanes))
            lanes[lane : lane + 1] = [rect.right]
            lane_of[n] = lane
        for n, lane in lane_of.items():
            levels[n] = lane - (len(lanes) - 1) / 2
    return levels


def _level(spot: Spot, level: float, frame: Frame) -> float:
    y = spot.y - level * (2 * spot.radius + 1)
    return min(max(y, frame.rect.top + spot.radius), frame.rect.bottom - spot.radius)
