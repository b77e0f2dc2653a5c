"""What happened, ready to be drawn: elements, panes and watermarks on the two axes of time."""

from __future__ import annotations

import math
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import chain, pairwise
from typing import Any

from millstream.drawing.moments import Moments
from millstream.drawing.words import shown, taken_back
from millstream.model.errors import TestingError
from millstream.model.instants import seconds
from millstream.model.panes import LateElement, Pane, Timing
from millstream.model.script import Elements, Step, Watermark

Window = tuple[float, float]


@dataclass(frozen=True, slots=True)
class Dot:
    """An element: where it is in both times, and the reason if it was late."""

    key: str
    name: str
    value: str
    time: float
    at: float
    step: int
    reason: str = ""


@dataclass(frozen=True, slots=True)
class Foot:
    """A span of event time in which a box begins lower than its base."""

    window: Window
    base: float
    opens: bool


@dataclass(frozen=True, slots=True)
class Box:
    """A firing: a pane with the panes that it retracts.

    It reaches from ``base``, the pane before it or (``opens``) its first element, up to ``at``.
    A session that was merged from others begins on the last of them, and on ``feet`` next to it.
    A retraction without a new pane has no value.
    """

    key: str
    window: Window
    base: float
    at: float
    opens: bool
    value: str
    timing: Timing
    index: int
    retracted: tuple[str, ...] = ()
    feet: tuple[Foot, ...] = ()


@dataclass(frozen=True, slots=True)
class Curve:
    """The moves of one source's watermark: (event time, height on the vertical axis)."""

    source: str
    points: tuple[tuple[float, float], ...]


def names_of(dots: Sequence[Dot], panes: Sequence[Pane]) -> dict[str, str]:
    """The keys in order of appearance: their identity, and what is shown of them."""
    names = {dot.key: dot.name for dot in dots}
    return names | {repr(pane.key): shown(pane.key) for pane in panes}


def dots_of(steps: Sequence[Step], late: Sequence[LateElement], moments: Moments) -> list[Dot]:
    """The elements of all bundles, and those dropped that no bundle names (rows of a pipeline)."""
    dropped = {_identity(item): item for item in late}
    arrived = [
        ((index, repr(key), shown(value), seconds(us)), key)
        for index, step in enumerate(steps)
        for key, value, us in _triples(step)
    ]
    seen = {name for name, _ in arrived}
    arrived += [(name, item.key) for name, item in dropped.items() if name not in seen]
    return [
        Dot(
            key=name[1],
            name=shown(key),
            value=name[2],
            time=name[3],
            at=moments.arrival(name[0]),
            step=name[0],
            reason=dropped[name].reason if name in dropped else "",
        )
        for name, key in arrived
    ]


def curves_of(steps: Sequence[Step], moments: Moments) -> list[Curve]:
    """One curve for each source that moves its watermark."""
    moves: dict[str, list[tuple[float, float]]] = defaultdict(list)
    for index, step in enumerate(steps):
        if isinstance(step, Watermark):
            moves[step.source or ""].append((seconds(step.us), moments.emission(index)))
    return [Curve(source, tuple(points)) for source, points in moves.items()]


class Firings:
    """Panes, grouped into firings, and what each of them begins on."""

    def __init__(self, panes: Sequence[Pane], dots: Sequence[Dot], moments: Moments) -> None:
        self._moments = moments
        self._taken = _taken_back(panes)
        self._alone = {id(pane) for group in self._taken.values() for pane in group}
        self._before: dict[int, int] = {}
        self._windows: dict[str, dict[Window, list[int]]] = defaultdict(lambda: defaultdict(list))
        self._starts: dict[str, list[Window]] = {}
        self._arrivals: dict[str, list[tuple[float, int]]] = defaultdict(list)
        self.fired = [pane for pane in panes if id(pane) not in self._alone]
        for pane in self.fired:
            steps = self._windows[repr(pane.key)][pane.window]
            if steps:
                self._before[id(pane)] = steps[-1]
            if pane.kind == "+":
                steps.append(pane.step)
        for dot in dots:
            if not dot.reason:
                self._arrivals[dot.key].append((dot.time, dot.step))
        for arrivals in self._arrivals.values():
            arrivals.sort()

    def box(self, pane: Pane) -> Box:
        """A pane as a box, on top of the pane before it."""
        base, opens, feet = self._base(pane)
        back = [shown(old.values) for old in self._taken.get(id(pane), ())]
        back += [shown(pane.values)] if pane.kind == "-" else []
        return Box(
            key=repr(pane.key),
            window=pane.window,
            base=base,
            at=self._moments.emission(pane.step),
            opens=opens,
            value=shown(pane.values) if pane.kind == "+" else "",
            timing=pane.timing,
            index=pane.index,
            retracted=tuple(map(taken_back, back)),
            feet=feet,
        )

    def _base(self, pane: Pane) -> tuple[float, bool, tuple[Foot, ...]]:
        before = self._before.get(id(pane))
        if before is not None:
            return self._moments.emission(before), False, ()
        swallowed = self._swallowed(pane)
        if swallowed:
            base = self._moments.emission(max(swallowed.values()))
            return base, False, self._feet(pane, swallowed, base)
        first = self._first(pane, pane.window) if pane.kind == "+" else None
        base = self._moments.opening(pane.step if first is None else first)
        return base, self._moments.by_clock, ()

    def _swallowed(self, pane: Pane) -> dict[Window, int]:
        """The sessions that were merged into this one, each with the step of its last pane."""
        windows = self._windows[repr(pane.key)]
        starts = self._starts.setdefault(repr(pane.key), sorted(windows))
        swallowed = {}
        for window in starts[_at(starts, pane.window[0]) : _at(starts, pane.window[1])]:
            steps = [step for step in windows[window] if step < pane.step]
            if steps and window != pane.window and _within(window, pane.window):
                swallowed[window] = steps[-1]
        return swallowed

    def _feet(self, pane: Pane, swallowed: dict[Window, int], base: float) -> tuple[Foot, ...]:
        bounds = sorted({*pane.window, *chain(*swallowed)})
        feet = []
        for window in pairwise(bounds):
            under = [step for old, step in swallowed.items() if _within(window, old)]
            first = None if under else self._first(pane, window)
            if under:
                feet.append(Foot(window, self._moments.emission(max(under)), opens=False))
            elif first is not None:
                opens = self._moments.by_clock
                feet.append(Foot(window, self._moments.opening(first), opens))
        return tuple(foot for foot in feet if foot.base < base)

    def _first(self, pane: Pane, window: Window) -> int | None:
        arrivals = self._arrivals[repr(pane.key)]
        inside = arrivals[_at(arrivals, window[0]) : _at(arrivals, window[1])]
        return min((step for _, step in inside if step <= pane.step), default=None)


def _at(rows: Sequence[tuple[float, float]], start: float) -> int:
    """Where the sorted rows that begin at ``start`` or later begin."""
    return bisect_left(rows, (start, -math.inf))


def _identity(item: LateElement) -> tuple[int, str, str, float]:
    return item.step, repr(item.key), shown(item.value), item.time


def _taken_back(panes: Sequence[Pane]) -> dict[int, list[Pane]]:
    """The retractions of each pane's firing, by the new pane's identity."""
    same: dict[tuple[str, int, Window], Pane] = {}
    new: dict[tuple[str, int], list[Pane]] = defaultdict(list)
    for pane in panes:
        if pane.kind == "+":
            same[repr(pane.key), pane.step, pane.window] = pane
            new[repr(pane.key), pane.step].append(pane)
    taken: dict[int, list[Pane]] = defaultdict(list)
    for old in panes:
        if old.kind == "-":
            firing = repr(old.key), old.step
            heir = same.get((*firing, old.window)) or next(
                (pane for pane in new[firing] if _within(old.window, pane.window)), None
            )
            if heir is not None:
                taken[id(heir)].append(old)
    return taken


def _within(inner: Window, outer: Window) -> bool:
    return outer[0] <= inner[0] and inner[1] <= outer[1]


def _triples(step: Step) -> list[tuple[Any, Any, int]]:
    if not isinstance(step, Elements):
        return []
    try:
        return step.triples()
    except TestingError:  # rows of a pipeline: which columns are key and time is not known here
        return []
