"""The vertical axis: when each step happened, by the clock or else by the step's number."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from millstream.model.instants import seconds
from millstream.model.panes import Pane
from millstream.model.script import ProcessingTime, Step

_CLOSEST = 0.018
"""The least part of the axis between two panes of a window that has space for a value."""
_EMPTIEST = 0.8
"""The largest part of the axis in which nothing happens."""
_MOST_ROWS = 60


@dataclass(frozen=True, slots=True)
class Moments:
    """The place of each step on the vertical axis.

    By the clock, all that a step does happens at one height. By number, a step is a row:
    its elements arrive in the middle, and its panes and watermark are at the row's upper end.
    """

    by_clock: bool
    readings: tuple[float, ...]
    moves: tuple[tuple[int, float], ...]

    def opening(self, step: int) -> float:
        return self._clock(step) if self.by_clock else float(step)

    def arrival(self, step: int) -> float:
        return self._clock(step) if self.by_clock else step + 0.5

    def emission(self, step: int) -> float:
        return self._clock(step) if self.by_clock else step + 1.0

    def rows(self) -> int:
        return len(self.readings)

    def _clock(self, step: int) -> float:
        return self.readings[min(max(step, 0), len(self.readings) - 1)]


def moments_of(steps: Sequence[Step], panes: Sequence[Pane]) -> Moments:
    """The axis that separates these steps.

    >>> moments_of([ProcessingTime(5), ProcessingTime(9)], []).emission(1)
    9.0
    >>> moments_of([], []).by_clock
    False
    """
    moves = tuple(
        (index, seconds(step.us))
        for index, step in enumerate(steps)
        if isinstance(step, ProcessingTime)
    )
    count = max([len(steps), *(pane.step + 1 for pane in panes)])
    readings = _readings(count, moves)
    seen = [n for n, step in enumerate(steps) if not isinstance(step, ProcessingTime)]
    seen += [pane.step for pane in panes]
    return Moments(bool(moves) and _separates(readings, seen, panes), readings, moves)


def _readings(count: int, moves: Sequence[tuple[int, float]]) -> tuple[float, ...]:
    now = _start([reading for _, reading in moves])
    moved = dict(moves)
    readings = []
    for index in range(count):
        now = moved.get(index, now)
        readings.append(now)
    return tuple(readings)


def _start(moves: Sequence[float]) -> float:
    """The clock before it first moved: 0, unless that is far below everything else."""
    if not moves:
        return 0.0
    span = moves[-1] - moves[0]
    near = moves[0] <= 2 * span or (len(moves) == 1 and moves[0] <= 86_400)
    return 0.0 if near else moves[0] - 0.1 * (span or 600.0)


def _separates(readings: Sequence[float], seen: Sequence[int], panes: Sequence[Pane]) -> bool:
    times = sorted({readings[step] for step in seen})
    if len(times) < 2:
        return len(set(seen)) < 2
    span = times[-1] - times[0]
    emptiest = max(later - sooner for sooner, later in pairwise(times))
    if len(times) > 3 and emptiest > _EMPTIEST * span:
        return False
    return len(readings) > _MOST_ROWS or _closest(readings, panes) >= _CLOSEST * span


def _closest(readings: Sequence[float], panes: Sequence[Pane]) -> float:
    """The shortest time between two firings of one window."""
    firings: dict[tuple[str, tuple[float, float]], set[int]] = defaultdict(set)
    for pane in panes:
        if pane.kind == "+":
            firings[repr(pane.key), pane.window].add(pane.step)
    return min(
        (
            readings[later] - readings[sooner]
            for steps in firings.values()
            for sooner, later in pairwise(sorted(steps))
        ),
        default=float("inf"),
    )
