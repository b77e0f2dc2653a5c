"""The value in each pane's box: as large as fits, at a free place."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from millstream.drawing import ink
from millstream.drawing.boxes import LID, Shape
from millstream.drawing.clutter import Clutter
from millstream.drawing.frame import Rect
from millstream.drawing.words import MINUS, fitted, is_number, wide

_SIZES = (22.0, 18.0, 15.0, 12.5)
_SMALL = (11.0, 9.5, 8.5)
_SIDE, _GAP = 3.0, 5.0
_FREE = 0.03
_LEGIBLE = 11.0
_MOST_RETRACTED = 4


@dataclass(frozen=True, slots=True)
class Label:
    """A value and what it retracts, side by side or (``stacked``) one above the other."""

    value: str
    retracted: tuple[str, ...]
    size: float
    stacked: bool = False
    upright: bool = False

    @property
    def small(self) -> float:
        return max(9.5, min(16.0, 0.75 * self.size))

    @property
    def width(self) -> float:
        value, back = self._widths()
        if self.stacked:
            return max(value, back)
        return value + back + (_GAP if value and back else 0)

    @property
    def height(self) -> float:
        if self.stacked:
            return self.size + 1.15 * self.small
        return self.size if self.value else 1.15 * self.small

    def draw(self, place: Rect, colour: str) -> str:
        """The text in the middle of ``place``."""
        middle, centre = (place.left + place.right) / 2, (place.top + place.bottom) / 2
        value, back = self._widths()
        left, top = middle - self.width / 2, centre - self.height / 2
        baseline = top + 0.86 * (self.size if self.value else self.small)
        drawn = ""
        if self.value:
            x = middle if self.stacked else left + value / 2
            drawn += haloed(self.value, x, baseline, self.size, fill=colour, font_weight=700,
                            class_="value")  # fmt: skip
        x = (middle - back / 2) if self.stacked else left + self.width - back
        below = baseline + (1.15 * self.small if self.stacked else 0)
        for words in self.retracted:
            width = wide(words, self.small)
            drawn += struck(words, x + width / 2, below, self.small)
            x += width + _GAP
        if not self.upright:
            return drawn
        turn = f"rotate(-90 {ink.number(middle)} {ink.number(centre)})"
        return ink.tag("g", drawn, transform=turn)

    def _widths(self) -> tuple[float, float]:
        back = sum(wide(words, self.small) + _GAP for words in self.retracted) - _GAP
        return wide(self.value, self.size, bold=True), max(back, 0.0)


def struck(words: str, x: float, y: float, size: float) -> str:
    """Text around x, with a line through it: drawn, because not every viewer strikes text."""
    half, rise = wide(words, size) / 2 - 1, 0.42 * size
    middle = y - 0.35 * size
    line = ink.tag(
        "line", x1=x - half, y1=middle + rise, x2=x + half, y2=middle - rise, stroke=ink.STRIKE,
        stroke_width=1.2, class_="strike",
    )  # fmt: skip
    return line + ink.text(
        words, x, y, size, fill=ink.TEXT, fill_opacity=0.8, font_weight=600, text_anchor="middle",
        class_="retraction",
    )  # fmt: skip


def haloed(words: str, x: float, y: float, size: float, **attributes: ink.Attribute) -> str:
    """Text around x that stays legible on lines."""
    return ink.text(
        words, x, y, size, text_anchor="middle", stroke=ink.PAPER, stroke_width=3,
        stroke_opacity=0.85, stroke_linejoin="round", paint_order="stroke", **attributes,
    )  # fmt: skip


def draw_label(shape: Shape, clutter: Clutter) -> str:
    """The shape's value at its best place; nothing if the box is too small for any."""
    best: tuple[float, Label, Rect] | None = None
    for label in _labels(shape):
        if best is not None and label.size < _LEGIBLE:
            break
        if not label.width:
            continue
        for taste, place in _places(shape.room, label):
            cost = clutter.cost(place)
            rank = cost + 0.02 * taste + 0.03 * (_SIZES[0] - label.size)
            if best is None or rank < best[0]:
                best = rank, label, place
        if best is not None and clutter.cost(best[2]) < _FREE:
            break
    if best is None:
        return ""
    _, label, place = best
    clutter.add(place, 6)
    return label.draw(place, ink.TIMINGS[shape.box.timing][1])


def _labels(shape: Shape) -> Iterator[Label]:
    """From the largest to the smallest; text is cut before it gets small, a number never."""
    box = shape.box
    room = shape.room.width - 2 * _SIDE
    back = box.retracted[:_MOST_RETRACTED]
    if len(box.retracted) > _MOST_RETRACTED:
        back += (f"and {len(box.retracted) - _MOST_RETRACTED} more",)
    for size in _SIZES:
        yield Label(box.value, back, size)
        if back and box.value:
            yield Label(box.value, back, size, stacked=True)
    for size in (_SIZES[-1], *_SMALL):
        value = _cut(box.value, room, size)
        short = tuple(_cut(words, room / len(back) - _GAP, 0.75 * size) for words in back)
        yield Label(value, short, size, stacked=bool(short and value))
        yield Label(value, (), size)
    for size in (_SIZES[-1], *_SMALL):
        yield Label(_cut(box.value, shape.room.height - 12, size), (), size, upright=True)


def _cut(words: str, width: float, size: float) -> str:
    """The text as far as it fits; a number, and what would keep no letter, as it is."""
    short = fitted(words, width, size, bold=True)
    return words if is_number(words.removeprefix(MINUS)) or len(short) < 3 else short


def _places(rect: Rect, label: Label) -> Iterator[tuple[float, Rect]]:
    """Where the label fits in the box, with a cost for each place."""
    width, height = label.width, label.height
    if label.upright:
        width, height = height, width
    left, right = rect.left + _SIDE, rect.right - _SIDE - width
    top, bottom = rect.top + LID + 1.5, rect.bottom - 1.5 - height
    if right < left or bottom < top:
        return
    for row, down in enumerate((0.5, 0.0, 0.25, 0.75, 1.0)):
        y = top + down * (bottom - top)
        for column, across in enumerate((0.5, 0.35, 0.65, 0.2, 0.8, 0.0, 1.0)):
            x = left + across * (right - left)
            yield row + column, Rect(x, y, x + width, y + height)
