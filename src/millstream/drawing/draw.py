"""The picture of *Streaming 102* and the Dataflow paper, for any panes."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import islice
from pathlib import Path
from typing import TypeVar

from millstream.drawing import ink
from millstream.drawing.axes import Axes
from millstream.drawing.extent import Extent, extent_of
from millstream.drawing.moments import moments_of
from millstream.drawing.panel import Panel
from millstream.drawing.sheet import Sheet
from millstream.drawing.story import Box, Curve, Dot, Firings, curves_of, dots_of, names_of
from millstream.drawing.ticks import Ticks, reading_of
from millstream.model.panes import LateElement, Pane
from millstream.model.script import Step

T = TypeVar("T")

_MOST_KEYS = 6
_MOST_ELEMENTS = 1200
_MOST_PANES = 600
_MOST_MARKS = 8


@dataclass(frozen=True, slots=True)
class Drawing:
    """A picture as SVG text; a notebook shows it directly."""

    svg: str

    def __str__(self) -> str:
        return self.svg

    def __repr__(self) -> str:
        return f"<Drawing: {len(self.svg):,} characters of SVG>"

    def _repr_svg_(self) -> str:
        return self.svg

    def save(self, path: str | Path) -> Path:
        """Write the picture to a file, which any browser opens."""
        path = Path(path)
        path.write_text(self.svg, encoding="utf-8")
        return path


def draw(
    panes: Iterable[Pane], steps: Iterable[Step], *, title: str = "", subtitle: str = ""
) -> Drawing:
    """Draw elements, watermarks and panes: event time across, processing time up.

    Elements are circles, the watermark a curve, and each pane a box: as wide as its window,
    from the pane before it (or its first element) up to the moment it came out.
    Elements that were dropped are read from ``panes.late``, where there is such a thing.

    >>> from millstream.model.script import Elements, ProcessingTime, Watermark
    >>> steps = [Elements([("k", 5, 3.0)]), ProcessingTime(12), Watermark(10)]
    >>> pane = Pane("k", (0.0, 10.0), 5, "ON_TIME", 0, True, True, step=2)
    >>> picture = draw([pane], steps, title="One window")
    >>> picture.svg.startswith("<svg"), picture.svg.count('class="element"')
    (True, 1)
    """
    late: Sequence[LateElement] = tuple(getattr(panes, "late", ()))
    panes, steps = list(panes), list(steps)
    moments = moments_of(steps, panes)
    dots = dots_of(steps, late, moments)
    firings = Firings(panes, dots, moments)
    names = names_of(dots, firings.fired)
    drawn = dict(islice(names.items(), _MOST_KEYS))
    some_dots = _thinned([dot for dot in dots if dot.key in drawn], _MOST_ELEMENTS)
    some_panes = _thinned([p for p in firings.fired if repr(p.key) in drawn], _MOST_PANES)
    boxes = [firings.box(pane) for pane in some_panes]
    curves = curves_of(steps, moments)
    extent, across = _across(some_dots, boxes, curves)
    notes = [
        *_nothing(dots, panes),
        *_left_out(len(drawn), len(names), "key"),
        *_left_out(len(some_dots), len(dots), "element"),
        *_left_out(len(boxes), len(firings.fired), "pane"),
    ]
    panels = _panels(drawn, some_dots, boxes, curves)
    return Drawing(Sheet(panels, Axes(across, moments), extent, title, subtitle, notes).draw())


def _across(
    dots: Sequence[Dot], boxes: Sequence[Box], curves: Sequence[Curve]
) -> tuple[Extent, Ticks]:
    times = [dot.time for dot in dots]
    windows = [box.window for box in boxes]
    marks = [time for curve in curves for time, _ in curve.points]
    extent = extent_of(times, windows, marks)
    shown = [*times, *(bound for window in windows for bound in window), *marks]
    reading = reading_of([time for time in shown if extent.low <= time <= extent.high])
    return extent, Ticks.between(extent.low, extent.high, reading=reading, most=_MOST_MARKS)


def _panels(
    names: dict[str, str], dots: Sequence[Dot], boxes: Sequence[Box], curves: Sequence[Curve]
) -> list[Panel]:
    """One panel a key, and an empty one if there is none."""
    colours = ink.KEYS if len(names) > 1 else (ink.ONE_KEY,)
    return [
        Panel(
            name,
            colour,
            [dot for dot in dots if dot.key == key],
            [box for box in boxes if box.key == key],
            curves,
        )
        for (key, name), colour in zip((names or {"": ""}).items(), colours, strict=False)
    ]


def _thinned(things: Sequence[T], most: int) -> Sequence[T]:
    """At most so many of them, evenly spread.

    >>> _thinned(range(10), 4)
    [0, 2, 5, 7]
    """
    if len(things) <= most:
        return things
    return [things[n * len(things) // most] for n in range(most)]


def _nothing(dots: Sequence[Dot], panes: Sequence[Pane]) -> list[str]:
    return [] if dots or panes else ["Nothing to draw: there are no elements and no panes."]


def _left_out(drawn: int, count: int, what: str) -> list[str]:
    if drawn == count:
        return []
    return [f"{drawn:,} of {count:,} {what}s are drawn, {count - drawn:,} are not."]
