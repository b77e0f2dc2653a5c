"""The legend: one entry for each kind of thing in the picture."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from millstream.drawing import boxes, curves, ink
from millstream.drawing.dots import cross
from millstream.drawing.labels import struck
from millstream.drawing.panel import Panel
from millstream.drawing.words import MINUS, shortened, wide

_SIZE = 12.0
_LINE = 22.0
_ICON = 24.0


@dataclass(frozen=True, slots=True)
class Entry:
    """A sign, ``icon`` wide, drawn around a left end and a middle line, and what it means."""

    words: str
    sign: Callable[[float, float], str]
    icon: float = _ICON

    @property
    def width(self) -> float:
        return self.icon + 7 + wide(self.words, _SIZE) + 16

    def draw(self, x: float, y: float) -> str:
        words = ink.text(self.words, x + self.icon + 7, y + 4, _SIZE, fill=ink.MUTED)
        return ink.tag("g", self.sign(x, y) + words, class_="legend")


def entries_of(panels: Sequence[Panel], *, ideal: bool) -> list[Entry]:
    """The entries that these panels need."""
    entries = _of_elements(panels)
    timings = {box.timing for panel in panels for box in panel.boxes if box.value}
    entries += [
        Entry(f"{boxes.NAMES[timing]} pane".replace("on time", "on-time"), _box_sign(timing))
        for timing in ink.TIMINGS
        if timing in timings
    ]
    if any(box.retracted for panel in panels for box in panel.boxes):
        entries.append(Entry("retracted", _struck))
    for number, curve in enumerate(panels[0].curves):
        words = f"watermark {shortened(curve.source, 24)}".strip()
        entries.append(Entry(words, _curve_sign(number)))
    if ideal:
        entries.append(Entry("ideal watermark", _ideal))
    return entries


def draw_legend(
    entries: Sequence[Entry], left: float, right: float, top: float
) -> tuple[str, float]:
    """The entries in lines, and the height that they take."""
    x, y = left, top + _LINE / 2
    drawn = []
    for entry in entries:
        if x > left and x + entry.width - 16 > right:
            x, y = left, y + _LINE
        drawn.append(entry.draw(x, y))
        x += entry.width
    return "\n".join(drawn), (y + _LINE / 2 - top if entries else 0)


def _of_elements(panels: Sequence[Panel]) -> list[Entry]:
    taken = any(not dot.reason for panel in panels for dot in panel.dots)
    dropped = any(dot.reason for panel in panels for dot in panel.dots)
    entries = []
    if len(panels) > 1:
        entries += [Entry(shortened(panel.name, 18), _disc(panel.colour), 12) for panel in panels]
    elif taken:
        entries.append(Entry("element", _disc(panels[0].colour), 12))
    if dropped:
        entries.append(Entry("dropped element", _crossed, 14))
    return entries


def _disc(colour: str) -> Callable[[float, float], str]:
    return lambda x, y: ink.tag("circle", cx=x + 6, cy=y, r=6, fill=colour)


def _crossed(x: float, y: float) -> str:
    hollow = ink.tag(
        "circle", cx=x + 7, cy=y, r=5.5, fill=ink.PAPER, stroke=ink.ONE_KEY, stroke_width=1.5
    )
    return hollow + cross(x + 7, y, 5.5, ink.ONE_KEY)


def _box_sign(timing: str) -> Callable[[float, float], str]:
    return lambda x, y: boxes.swatch(timing, x, y - 6.5)


def _curve_sign(number: int) -> Callable[[float, float], str]:
    return lambda x, y: curves.swatch(number, x, y)


def _struck(x: float, y: float) -> str:
    return struck(f"{MINUS}7", x + 12, y + 4.5, 13)


def _ideal(x: float, y: float) -> str:
    return ink.tag(
        "line", x1=x, y1=y, x2=x + 24, y2=y, stroke=ink.IDEAL, stroke_width=1.25,
        stroke_dasharray="5 5",
    )  # fmt: skip
