"""One key's panel: its panes, its elements and the watermark, in one frame."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from millstream.drawing import ink
from millstream.drawing.boxes import Shape, shapes_of
from millstream.drawing.clutter import Clutter
from millstream.drawing.curves import block_curve, draw_curve, name_curve
from millstream.drawing.dots import Spot, spots_of
from millstream.drawing.frame import Frame, Rect
from millstream.drawing.labels import draw_label
from millstream.drawing.story import Box, Curve, Dot
from millstream.drawing.ticks import Ticks

_CLEAR = 3.0
"""The distance between a value and an element."""


@dataclass(frozen=True, slots=True)
class Panel:
    """What is drawn for one key, or for all if there is only one panel."""

    name: str
    colour: str
    dots: Sequence[Dot]
    boxes: Sequence[Box]
    curves: Sequence[Curve]

    def draw(self, frame: Frame, times: Ticks) -> tuple[str, int]:
        """The panel's content, and how many values had no space."""
        shapes = shapes_of(self.boxes, frame)
        spots = spots_of(self.dots, shapes, frame)
        clutter = self._clutter(shapes, spots, frame)
        labels = {
            n: draw_label(shapes[n], clutter)
            for n in sorted(range(len(shapes)), key=lambda n: _area(shapes[n].rect))
        }
        names = [name_curve(curve, frame, clutter) for curve in self.curves]
        content = [
            *(shape.draw_ground() for shape in shapes),
            *(shape.draw(times) for shape in shapes),
            *(draw_curve(curve, frame, n, times) for n, curve in enumerate(self.curves)),
            *(spot.draw(self.colour, times) for spot in spots),
            *(labels[n] for n in range(len(shapes))),
            *names,
        ]
        return "\n".join(filter(None, content)), sum(not label for label in labels.values())

    def _clutter(self, shapes: Sequence[Shape], spots: Sequence[Spot], frame: Frame) -> Clutter:
        clutter = Clutter()
        for spot in spots:
            clutter.add(spot.rect.grown(_CLEAR), 3 if spot.size else 1)
        for shape in shapes:
            clutter.add(shape.lid, 2)
        for curve in self.curves:
            block_curve(curve, frame, clutter)
        return clutter


def draw_ideal(frame: Frame) -> str:
    """The dashed line on which event time is processing time, where it is in view."""
    start = max(frame.low, frame.extent.low)
    end = min(frame.high, frame.extent.high)
    if end <= start or frame.x(end) - frame.x(start) < 24:
        return ""
    return ink.tag(
        "line", x1=frame.x(start), y1=frame.y(start), x2=frame.x(end), y2=frame.y(end),
        stroke=ink.IDEAL, stroke_width=1.25, stroke_dasharray="5 5", class_="ideal",
    )  # fmt: skip


def _area(rect: Rect) -> float:
    return rect.width * rect.height
