"""Watermarks as curves: up while they wait, across when they move."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise

from millstream.drawing import ink
from millstream.drawing.clutter import Clutter
from millstream.drawing.frame import Frame, Rect
from millstream.drawing.story import Curve
from millstream.drawing.ticks import Ticks
from millstream.drawing.words import wide

Point = tuple[float, float]

_ROUND = 7.0
_DASHES = (None, "7 3", "2 3", "9 3 2 3")
_NAME_SIZE = 11.5


def corners_of(curve: Curve, frame: Frame) -> list[Point]:
    """The curve's corners in the picture, from the left edge to the top or the right edge."""
    corners: list[Point] = []
    for time, at in curve.points:
        y = frame.y(at)
        x = _edge(time, frame)
        corners += [(corners[-1][0] if corners else frame.rect.left, y), (x, y)]
    if corners and curve.points[-1][0] <= frame.extent.high:
        corners.append((corners[-1][0], frame.rect.top))
    return [corner for n, corner in enumerate(corners) if n == 0 or corner != corners[n - 1]]


def draw_curve(curve: Curve, frame: Frame, number: int, times: Ticks) -> str:
    """The curve, with an arrow where it leaves the picture."""
    corners = corners_of(curve, frame)
    if len(corners) < 2:
        return ""
    path = _rounded(corners)
    line = ink.tag(
        "path", d=path, fill="none", stroke=ink.WATERMARK, stroke_width=2.25,
        stroke_linejoin="round", stroke_dasharray=_DASHES[number % len(_DASHES)], class_="curve",
    )  # fmt: skip
    return ink.tag("g", line + _leaving(curve, frame, times), class_="watermark")


def block_curve(curve: Curve, frame: Frame, clutter: Clutter) -> None:
    """Keep labels off the curve."""
    for (x1, y1), (x2, y2) in pairwise(corners_of(curve, frame)):
        rect = Rect(min(x1, x2) - 3, min(y1, y2) - 3, max(x1, x2) + 3, max(y1, y2) + 3)
        clutter.add(rect, 5)


def name_curve(curve: Curve, frame: Frame, clutter: Clutter) -> str:
    """The label of the curve, at its freest place; nothing if no place is free."""
    words = f"watermark {curve.source}".strip()
    width = wide(words, _NAME_SIZE) + 4
    best = min(_places(corners_of(curve, frame), width, frame), key=clutter.cost, default=None)
    if best is None or clutter.cost(best) > 0.05:
        return ""
    clutter.add(best, 6)
    return ink.text(
        words, best.left + 2, best.bottom - 4, _NAME_SIZE, fill=ink.WATERMARK,
        font_style="italic", font_weight=600, class_="watermark-name",
    )  # fmt: skip


def swatch(number: int, x: float, y: float) -> str:
    """A section of the curve for the legend, 24 wide."""
    return ink.tag(
        "line", x1=x, y1=y, x2=x + 24, y2=y, stroke=ink.WATERMARK, stroke_width=2.25,
        stroke_dasharray=_DASHES[number % len(_DASHES)],
    )  # fmt: skip


def _places(corners: Sequence[Point], width: float, frame: Frame) -> list[Rect]:
    """Left and right of the vertical sections, and above the horizontal ones."""
    spots: list[tuple[float, float]] = []
    for (x1, y1), (x2, y2) in pairwise(corners):
        if x1 == x2:
            for share in (0.5, 0.25, 0.75):
                middle = y1 + share * (y2 - y1)
                spots += [(x1 + 5, middle - 8), (x1 - 5 - width, middle - 8)]
        elif abs(x2 - x1) > width:
            spots += [((x1 + x2 - width) / 2, y1 - 20), ((x1 + x2 - width) / 2, y1 + 4)]
    rects = [Rect(x, y, x + width, y + 16) for x, y in spots]
    return [
        rect
        for rect in rects
        if rect.left >= frame.rect.left
        and rect.right <= frame.rect.right
        and rect.top >= frame.rect.top
        and rect.bottom <= frame.rect.bottom
    ]


def _edge(time: float, frame: Frame) -> float:
    if time > frame.extent.high:
        return frame.rect.right
    return frame.rect.left if time < frame.extent.low else frame.x(time)


def _leaving(curve: Curve, frame: Frame, times: Ticks) -> str:
    """An arrow and the time at each move beyond the right edge; only the first and the last."""
    beyond = [(time, at) for time, at in curve.points if time > frame.extent.high]
    drawn, height = "", math.inf
    for time, at in beyond[:1] + beyond[-1:]:
        y = frame.y(at)
        if abs(height - y) < 14:
            continue
        height = y
        tip = f"M{ink.number(frame.rect.right + 8)} {ink.number(y)}l-9 -5v10z"
        drawn += ink.tag("path", d=tip, fill=ink.WATERMARK, class_="arrow")
        words = times.exact(time)
        size = 18 if math.isinf(time) else 11
        drawn += ink.text(words, frame.rect.right + 11, y + 0.35 * size, size, fill=ink.WATERMARK)
    return drawn


def _rounded(corners: Sequence[Point]) -> str:
    """A path through the corners, each of them rounded as far as its sections allow."""
    path = f"M{_pair(corners[0])}"
    for before, corner, after in zip(corners, corners[1:], corners[2:], strict=False):
        radius = min(_ROUND, math.dist(before, corner) / 2, math.dist(corner, after) / 2)
        path += f"L{_pair(_toward(corner, before, radius))}"
        path += f"Q{_pair(corner)} {_pair(_toward(corner, after, radius))}"
    return path + f"L{_pair(corners[-1])}"


def _toward(start: Point, end: Point, length: float) -> Point:
    share = length / (math.dist(start, end) or 1)
    return start[0] + share * (end[0] - start[0]), start[1] + share * (end[1] - start[1])


def _pair(point: Point) -> str:
    return f"{ink.number(point[0])} {ink.number(point[1])}"
