"""What is already in the picture, so that a label can find a free place."""

from __future__ import annotations

from collections import defaultdict

from millstream.drawing.frame import Rect

_CELL = 48.0


class Clutter:
    """Rectangles that a label should avoid, each with a weight.

    >>> clutter = Clutter()
    >>> clutter.add(Rect(0, 0, 10, 10), 2)
    >>> clutter.cost(Rect(5, 0, 15, 10)), clutter.cost(Rect(20, 0, 30, 10))
    (1.0, 0.0)
    """

    def __init__(self) -> None:
        self._cells: dict[tuple[int, int], list[tuple[int, Rect, float]]] = defaultdict(list)
        self._count = 0

    def add(self, rect: Rect, weight: float) -> None:
        self._count += 1
        for cell in _cells(rect):
            self._cells[cell].append((self._count, rect, weight))

    def cost(self, rect: Rect) -> float:
        """The weighted share of ``rect`` that is taken."""
        found = {
            number: (other, weight)
            for cell in _cells(rect)
            for number, other, weight in self._cells.get(cell, ())
        }
        taken = sum(weight * rect.overlap(other) for other, weight in found.values())
        return taken / (rect.width * rect.height)


def _cells(rect: Rect) -> list[tuple[int, int]]:
    across = range(int(rect.left // _CELL), int(rect.right // _CELL) + 1)
    down = range(int(rect.top // _CELL), int(rect.bottom // _CELL) + 1)
    return [(column, row) for column in across for row in down]
