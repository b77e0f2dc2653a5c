"""The light grid behind a panel, and the labels of its two axes."""

from __future__ import annotations

import math
from dataclasses import dataclass

from millstream.drawing import ink
from millstream.drawing.frame import Frame
from millstream.drawing.moments import Moments
from millstream.drawing.ticks import Ticks, reading_of
from millstream.drawing.words import wide

TICK = 11.0
_NAME = 12.0
_ROW = 15.0


@dataclass(frozen=True, slots=True)
class Axes:
    """Event time across; up, processing time or, if the clock does not separate them, steps."""

    across: Ticks
    moments: Moments

    def up(self, frame: Frame) -> Ticks:
        """The marks of processing time."""
        reading = reading_of(self.moments.readings)
        most = max(2, int(frame.rect.height / 40))
        return Ticks.between(frame.low, frame.high, reading=reading, most=most)

    def draw(self, frame: Frame, *, last: bool) -> str:
        """The grid and the labels; event times are written under the last panel only."""
        rect = frame.rect
        ground = ink.tag(
            "rect", x=rect.left, y=rect.top, width=rect.width, height=rect.height,
            fill=ink.PLOT, class_="plot",
        )  # fmt: skip
        border = ink.tag(
            "path", fill="none", stroke=ink.AXIS,
            d=f"M{ink.number(rect.left)} {ink.number(rect.top)}V{ink.number(rect.bottom)}"
            f"H{ink.number(rect.right)}",
        )  # fmt: skip
        rows = self._times(frame) if self.moments.by_clock else self._steps(frame)
        return "\n".join([ground, self._event_times(frame, last=last), rows, border])

    def _event_times(self, frame: Frame, *, last: bool) -> str:
        rect = frame.rect
        drawn = _gutters(frame)
        for mark in self.across.marks():
            x = frame.x(mark)
            drawn += _line(x, rect.top, x, rect.bottom)
            if last:
                words = self.across.label(mark)
                drawn += ink.text(
                    words, x, rect.bottom + 17, TICK, fill=ink.MUTED, text_anchor="middle",
                    class_="event-time",
                )  # fmt: skip
        if last:
            unit = self.across.unit()
            drawn += ink.text(
                f"event time ({unit}) →" if unit else "event time →", rect.right,
                rect.bottom + 38, _NAME, text_anchor="end", font_weight=600, fill=ink.MUTED,
            )  # fmt: skip
        return drawn

    def _times(self, frame: Frame) -> str:
        rect, ticks = frame.rect, self.up(frame)
        drawn = ""
        for mark in ticks.marks():
            y = frame.y(mark)
            drawn += _line(rect.left, y, rect.right, y) + _beside(ticks.label(mark), y, frame)
        name = f"processing time ({ticks.unit()})" if ticks.unit() else "processing time"
        if wide(name, _NAME) > rect.height - 20:
            name = "processing time"
        return drawn + _upward(name, frame)

    def _steps(self, frame: Frame) -> str:
        rect, rows = frame.rect, max(self.moments.rows(), 1)
        pitch = rect.height / rows
        every = max(1, math.ceil(_ROW / pitch))
        if every > 1:
            every = int(Ticks.between(0, rows, reading="seconds", most=rows // every).every)
        drawn = ""
        for row in range(0, rows, every):
            drawn += _line(rect.left, frame.y(row), rect.right, frame.y(row))
            drawn += _beside(str(row), frame.y(row + 0.5), frame)
        return drawn + self._clock_moves(frame) + _upward("step", frame)

    def _clock_moves(self, frame: Frame) -> str:
        """If the axis has steps, each move of the clock is shown at the right edge."""
        ticks = self.up(frame)
        drawn, lowest = "", math.inf
        for step, reading in self.moments.moves:
            y = frame.y(step + 0.5)
            if y > lowest - 13:
                continue
            lowest = y
            drawn += ink.text(
                f"clock {ticks.exact(reading)}", frame.rect.right + 8, y + 4, 10.5,
                fill=ink.MUTED, class_="clock",
            )  # fmt: skip
        return drawn


def left_margin(axes: Axes, frame: Frame) -> float:
    """The width of the labels left of the panels."""
    if not axes.moments.by_clock:
        return 62.0
    ticks = axes.up(frame)
    return 38.0 + max((wide(ticks.label(mark), TICK) for mark in ticks.marks()), default=0)


def right_margin(axes: Axes, leaving: list[float]) -> float:
    """The width of the labels right of the panels."""
    widths = [12 + wide(axes.across.exact(time), 11) for time in leaving if math.isfinite(time)]
    if not axes.moments.by_clock:
        ticks = Ticks(0, 1, 1, reading_of(axes.moments.readings))
        widths += [wide(f"clock {ticks.exact(time)}", 10.5) for _, time in axes.moments.moves]
    return 36.0 + max([0, *(width - 16 for width in widths)])


def _gutters(frame: Frame) -> str:
    """The shaded strips for what is far outside."""
    rect = frame.rect
    strips = [(rect.left, frame.left, "earlier")] if frame.extent.before else []
    strips += [(frame.right, rect.right, "later")] if frame.extent.after else []
    drawn = ""
    for left, right, word in strips:
        drawn += ink.tag(
            "rect", x=left, y=rect.top, width=right - left, height=rect.height, fill=ink.GRID,
            fill_opacity=0.6, class_="gutter",
        )  # fmt: skip
        drawn += ink.text(
            f"far {word}", (left + right) / 2, rect.top - 5, 10.5, text_anchor="middle",
            font_style="italic", fill=ink.MUTED,
        )  # fmt: skip
    return drawn


def _line(x1: float, y1: float, x2: float, y2: float) -> str:
    return ink.tag("line", x1=x1, y1=y1, x2=x2, y2=y2, stroke=ink.GRID)


def _beside(words: str, y: float, frame: Frame) -> str:
    return ink.text(
        words, frame.rect.left - 8, y + 4, TICK, fill=ink.MUTED, text_anchor="end",
        class_="processing-time",
    )  # fmt: skip


def _upward(words: str, frame: Frame) -> str:
    x, y = 22.0, frame.rect.top
    return ink.text(
        f"{words} →", x, y, _NAME, fill=ink.MUTED, text_anchor="end", font_weight=600,
        transform=f"rotate(-90 {ink.number(x)} {ink.number(y)})",
    )  # fmt: skip
