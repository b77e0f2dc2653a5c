"""The whole sheet of paper: title, legend, panels one below the other, notes."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from millstream.drawing import ink
from millstream.drawing.axes import Axes, left_margin, right_margin
from millstream.drawing.extent import Extent
from millstream.drawing.frame import Frame, Rect
from millstream.drawing.legend import draw_legend, entries_of
from millstream.drawing.panel import Panel, draw_ideal
from millstream.drawing.words import fitted

WIDTH = 900.0
_EDGE = 28.0
_HEIGHTS = {1: 430.0, 2: 300.0, 3: 250.0}
_MANY = 210.0
_TALLEST = 1.5
_ROOM = 25.0
_ROW = 34.0


@dataclass(frozen=True, slots=True)
class Sheet:
    """Everything that is drawn, without positions."""

    panels: Sequence[Panel]
    axes: Axes
    extent: Extent
    title: str
    subtitle: str
    notes: Sequence[str]

    def draw(self) -> str:
        """The picture as SVG text."""
        head, top = self._head()
        body, bottom, unwritten = self._body(top)
        notes = [*self.notes, *_unwritten(unwritten)]
        foot, height = self._foot(notes, bottom)
        paper = ink.tag("rect", width=WIDTH, height=height, fill=ink.PAPER)
        return ink.tag(
            "svg",
            "\n".join(["", ink.hint(self.title or "event time and processing time"), paper,
                       head, body, foot, ""]),
            xmlns="http://www.w3.org/2000/svg", width=WIDTH, height=height,
            viewBox=f"0 0 {ink.number(WIDTH)} {ink.number(height)}", role="img",
            font_family=ink.FONT,
        )  # fmt: skip

    def _head(self) -> tuple[str, float]:
        drawn, top = [], 22.0
        if self.title:
            words = fitted(self.title, WIDTH - 2 * _EDGE, 19, bold=True)
            drawn.append(ink.text(words, _EDGE, top + 17, 19, font_weight=700))
            top += 30
        if self.subtitle:
            words = fitted(self.subtitle, WIDTH - 2 * _EDGE, 13)
            drawn.append(ink.text(words, _EDGE, top + 12, 13, fill=ink.MUTED))
            top += 24
        ideal = self.axes.moments.by_clock and bool(draw_ideal(self._frame(0, 100)))
        entries = entries_of(self.panels, ideal=ideal)
        legend, height = draw_legend(entries, _EDGE, WIDTH - _EDGE, top)
        return "\n".join([*drawn, legend]), top + height + 12

    def _body(self, top: float) -> tuple[str, float, int]:
        drawn, unwritten = [], 0
        height = self._height()
        for panel in self.panels:
            if len(self.panels) > 1:
                drawn.append(_heading(panel, self._frame(top, height).rect.left, top))
                top += 22
            frame = self._frame(top, height)
            last = panel is self.panels[-1]
            drawn.append(self.axes.draw(frame, last=last))
            if self.axes.moments.by_clock:
                drawn.append(draw_ideal(frame))
            content, missing = panel.draw(frame, self.axes.across)
            drawn.append(ink.tag("g", f"\n{content}\n", class_="panel"))
            unwritten += missing
            top += height + (46 if last else 18)
        return "\n".join(filter(None, drawn)), top, unwritten

    def _foot(self, notes: Sequence[str], top: float) -> tuple[str, float]:
        drawn = [
            ink.text(fitted(note, WIDTH - 2 * _EDGE, 11.5), _EDGE, top + 12 + 17 * n, 11.5,
                     fill=ink.MUTED, font_style="italic", class_="note")
            for n, note in enumerate(notes)
        ]  # fmt: skip
        return "\n".join(drawn), top + (17 * len(notes) + 14 if notes else 4)

    def _frame(self, top: float, height: float) -> Frame:
        low, high = self._heights(height)
        leaving = [
            time
            for panel in self.panels[:1]
            for curve in panel.curves
            for time, _ in curve.points
            if time > self.extent.high
        ]
        rough = Frame(Rect(0, top, WIDTH, top + height), self.extent, low, high)
        left = left_margin(self.axes, rough)
        right = WIDTH - right_margin(self.axes, leaving)
        return Frame(Rect(left, top, right, top + height), self.extent, low, high)

    def _heights(self, height: float) -> tuple[float, float]:
        """The processing times, or the rows, at the panel's lower and upper edge."""
        moments = self.axes.moments
        if not moments.by_clock:
            return 0.0, max(moments.rows(), 1) + 0.3
        low, high = min(moments.readings), max(moments.readings)
        if low == high:
            return low - 8, high + 4
        pixel = (high - low) / (height - 2 * _ROOM)
        return low - 1.35 * _ROOM * pixel, high + 0.65 * _ROOM * pixel

    def _height(self) -> float:
        """Tall enough for each value to have its own line, up to a limit."""
        usual = _HEIGHTS.get(len(self.panels), _MANY)
        moments = self.axes.moments
        if not moments.by_clock:
            return min(max(_ROW * moments.rows(), 120.0), _TALLEST * usual)
        if any(map(_overlapping, self.panels)):
            return _TALLEST * usual
        gap = min((_closest(panel) for panel in self.panels), default=0.0)
        span = max(moments.readings) - min(moments.readings)
        return min(max(usual, _ROOM * span / gap if gap else 0.0), _TALLEST * usual)


def _closest(panel: Panel) -> float:
    """The shortest time that a box of the panel covers."""
    times = sorted({box.at for box in panel.boxes})
    spans = [box.at - box.base for box in panel.boxes if box.at > box.base]
    return min(spans, default=min((b - a for a, b in pairwise(times)), default=0.0))


def _overlapping(panel: Panel) -> bool:
    """Whether the panel's windows overlap, as sliding ones do."""
    windows = sorted({box.window for box in panel.boxes})
    return any(
        one[1] > other[0] and other[1] > one[1] > one[0] < other[0]
        for one, other in pairwise(windows)
    )


def _heading(panel: Panel, left: float, top: float) -> str:
    disc = ink.tag("circle", cx=left + 6, cy=top + 9, r=5.5, fill=panel.colour)
    words = fitted(panel.name, 700, 13, bold=True)
    return disc + ink.text(
        words, left + 18, top + 13.5, 13, font_weight=600, fill=panel.colour, class_="key"
    )


def _unwritten(count: int) -> list[str]:
    if not count:
        return []
    what = "1 value is" if count == 1 else f"{count:,} values are"
    return [f"{what} not shown for lack of space; point at a pane to read its value."]
