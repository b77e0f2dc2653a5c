"""Panes as boxes: as wide as their window, as high as the time since the pane before."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.drawing import ink
from millstream.drawing.clutter import Clutter
from millstream.drawing.frame import Frame, Rect, Span
from millstream.drawing.story import Box
from millstream.drawing.ticks import Ticks

LID = 3.5
_LINE = 1.0
_LOWEST = ((60, 24.0), (150, 12.0), (10**9, 3.0))
"""The least height of a box, by the number of boxes in a panel."""
_FOOT = 15.0
_NARROWEST = 1.5
_BAR = 23.0
_MOST_LANES = 12
_EAVES = 1.75
_SLIVER = 0.25
_DASHES = {"EARLY": "2 3", "ON_TIME": None, "LATE": "9 3"}
NAMES = {"EARLY": "early", "ON_TIME": "on time", "LATE": "late"}


@dataclass(frozen=True, slots=True)
class Shape:
    """A box in the picture; one that others overlap is faint, and has a ``bar`` for its value."""

    box: Box
    rect: Rect
    span: Span
    feet: tuple[Rect, ...]
    bar: Rect | None

    @property
    def lid(self) -> Rect:
        """The upper edge, when the pane was emitted; just below the watermark that caused it."""
        rect = self.bar or self.rect
        return Rect(rect.left, rect.top + _LINE, rect.right, rect.top + _LINE + LID)

    @property
    def room(self) -> Rect:
        """Where the value may be."""
        return self.bar or self.rect

    def draw_ground(self) -> str:
        """The faint box under the bars, where boxes overlap."""
        if not self.bar:
            return ""
        colour, _ = ink.TIMINGS[self.box.timing]
        return ink.tag(
            "path", d=_path(self._outline(), closed=True), fill=colour, fill_opacity=0.045,
            stroke=colour, stroke_opacity=0.16, class_="ground",
        )  # fmt: skip

    def draw(self, times: Ticks) -> str:
        """The box, without its value."""
        colour, _ = ink.TIMINGS[self.box.timing]
        body = ""
        if self.box.value:
            body = _plate(self.bar, colour) if self.bar else self._body(colour)
        return ink.tag(
            "g",
            ink.hint(_story(self.box, times)) + body + self._lid(colour),
            class_=f"pane {NAMES[self.box.timing].replace(' ', '-')}",
        )

    def _body(self, colour: str) -> str:
        outline = _path(self._outline(), closed=True)
        fill = ink.tag("path", d=outline, fill=colour, fill_opacity=0.16, class_="box")
        if self.rect.width < 4:
            return fill
        sides = self._outline()
        if self.span.open_left or self.span.open_right:
            sides = [(self.rect.left, self.rect.bottom), (self.rect.right, self.rect.bottom)]
        line = _path(sides, closed=False)
        return fill + ink.tag("path", d=line, fill="none", stroke=colour, stroke_opacity=0.5)

    def _outline(self) -> list[tuple[float, float]]:
        """Down the left side, along the feet, and up the right side."""
        rect = self.rect
        corners = [(rect.left, rect.top)]
        at = rect.left
        for foot in self.feet:
            if foot.left > at:
                corners += [(at, rect.bottom), (foot.left, rect.bottom)]
            corners += [(foot.left, foot.bottom), (foot.right, foot.bottom)]
            at = foot.right
        if at < rect.right:
            corners += [(at, rect.bottom), (rect.right, rect.bottom)]
        return [*corners, (rect.right, rect.top)]

    def _lid(self, colour: str) -> str:
        lid = self.lid
        middle = lid.top + LID / 2
        eaves = _EAVES if self.bar else 0
        line = ink.tag(
            "line", x1=lid.left + eaves, y1=middle, x2=max(lid.right - eaves, lid.left + 1),
            y2=middle, stroke=colour, stroke_width=LID if self.box.value else 1.5,
            stroke_dasharray=_DASHES[self.box.timing],
        )  # fmt: skip
        if self.span.open_left:
            line += _arrow(lid.left, middle, -1, colour)
        if self.span.open_right:
            line += _arrow(lid.right, middle, 1, colour)
        return line


def swatch(timing: str, x: float, y: float) -> str:
    """A small box for the legend, 24 wide and 13 high."""
    colour, _ = ink.TIMINGS[timing]
    return ink.tag(
        "rect", x=x, y=y, width=24, height=13, fill=colour, fill_opacity=0.16
    ) + ink.tag(
        "line", x1=x, y1=y + LID / 2, x2=x + 24, y2=y + LID / 2, stroke=colour,
        stroke_width=LID, stroke_dasharray=_DASHES[timing],
    )  # fmt: skip


def shapes_of(boxes: Sequence[Box], frame: Frame) -> list[Shape]:
    """The places of the boxes. Those that overlap get a bar each, for their values."""
    spans = [_wide_enough(frame.span(box.window)) for box in boxes]
    lowest = next(low for most, low in _LOWEST if len(boxes) <= most)
    rects = [_rect(box, span, lowest, frame) for box, span in zip(boxes, spans, strict=True)]
    bars = _bars(rects, _crowded(boxes, rects), frame)
    return [
        Shape(box, rect, span, _feet(box, rect, frame), bars.get(n))
        for n, (box, rect, span) in enumerate(zip(boxes, rects, spans, strict=True))
    ]


def _rect(box: Box, span: Span, lowest: float, frame: Frame) -> Rect:
    top = frame.y(box.at)
    foot = frame.y(box.base) + (_FOOT if box.opens else 0)
    bottom = min(max(foot, top + lowest), frame.rect.bottom)
    return Rect(span.left, top, span.right, max(bottom, top + LID + _LINE))


def _feet(box: Box, rect: Rect, frame: Frame) -> tuple[Rect, ...]:
    feet = []
    for foot in box.feet:
        span = frame.span(foot.window)
        bottom = min(frame.y(foot.base) + (_FOOT if foot.opens else 0), frame.rect.bottom)
        if bottom > rect.bottom:
            feet.append(Rect(span.left, rect.bottom, span.right, bottom))
    return tuple(feet)


def _wide_enough(span: Span) -> Span:
    right = max(span.right, span.left + _NARROWEST)
    return Span(span.left, right, span.open_left, span.open_right)


def _bars(rects: Sequence[Rect], crowded: Sequence[bool], frame: Frame) -> dict[int, Rect]:
    """A bar under the lid of each overlapping box, or in the nearest free place below it."""
    bars: dict[int, Rect] = {}
    taken = Clutter()
    for n in sorted(range(len(rects)), key=lambda n: (rects[n].top, rects[n].left)):
        if crowded[n]:
            bars[n] = _free_bar(rects[n], taken, frame)
            taken.add(bars[n], 1)
    return bars


def _free_bar(rect: Rect, taken: Clutter, frame: Frame) -> Rect:
    at_once = Rect(rect.left, rect.top, rect.right, rect.top + _BAR)
    for lane in range(_MOST_LANES):
        top = rect.top + lane * (_BAR + 2)
        bar = Rect(rect.left, top, rect.right, top + _BAR)
        if bar.bottom > frame.rect.bottom:
            break
        if not taken.cost(bar):
            return bar
    return at_once


def _crowded(boxes: Sequence[Box], rects: Sequence[Rect]) -> list[bool]:
    """Which boxes overlap noticeably with another."""
    crowded = [False] * len(rects)
    areas = [rect.width * rect.height for rect in rects]
    filled = [n for n, box in enumerate(boxes) if box.value]
    order = sorted(filled, key=lambda n: rects[n].left)
    for place, one in enumerate(order):
        for other in order[place + 1 :]:
            if rects[other].left >= rects[one].right - 1:
                break
            if rects[one].overlap(rects[other]) > _SLIVER * min(areas[one], areas[other]):
                crowded[one] = crowded[other] = True
    return crowded


def _plate(rect: Rect, colour: str) -> str:
    """The bar, on its own background."""
    corners = [
        (rect.left + _EAVES, rect.top + _LINE),
        (rect.left + _EAVES, rect.bottom),
        (max(rect.right - _EAVES, rect.left + _EAVES + 0.5), rect.bottom),
        (max(rect.right - _EAVES, rect.left + _EAVES + 0.5), rect.top + _LINE),
    ]
    path = _path(corners, closed=True)
    paper = ink.tag("path", d=path, fill=ink.PAPER, fill_opacity=0.92)
    return paper + ink.tag(
        "path", d=path, fill=colour, fill_opacity=0.2, stroke=colour, stroke_opacity=0.55,
        class_="box",
    )  # fmt: skip


def _path(corners: Sequence[tuple[float, float]], *, closed: bool) -> str:
    points = "L".join(f"{ink.number(x)} {ink.number(y)}" for x, y in corners)
    return f"M{points}Z" if closed else f"M{points}"


def _story(box: Box, times: Ticks) -> str:
    start, end = (times.exact(bound) for bound in box.window)
    value = f" = {box.value}" if box.value else ""
    back = f", taking back {', '.join(box.retracted)}" if box.retracted else ""
    return f"[{start}, {end}){value}, {NAMES[box.timing]}, pane {box.index}{back}"


def _arrow(x: float, y: float, way: int, colour: str) -> str:
    tip = f"M{ink.number(x)} {ink.number(y)}l{-9 * way} -5v10z"
    return ink.tag("path", d=tip, fill=colour, class_="open-edge")
