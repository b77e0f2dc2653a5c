"""GroupByKeyAndWindow with panes: the heart of the model, for one grouping of a program.

The order of things is §14's: a bundle merges windows, adds all its elements and then asks each
touched window's trigger once; a moved watermark or clock asks each window whose timer is due once.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from functools import cached_property
from typing import Any

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.panes import Timing
from millstream.model.refinements import Refinement
from millstream.model.windowing import Windowing
from millstream.model.windows import Interval
from millstream.reference.aggregates import Column, summarise
from millstream.reference.contents import WindowState
from millstream.reference.elements import Element, Emission, Late, PaneInfo
from millstream.reference.ordering import ordering
from millstream.reference.triggers import Moment, machine
from millstream.reference.windows import Windows, windows_of


class GroupByKeyAndWindow:
    """The state of one grouping: for each key its live windows, and its watermark.

    A pane's value is a tuple of its aggregates'. ``late`` collects what was dropped; whoever drives
    the grouping takes it from there.
    """

    def __init__(self, windowing: Windowing, columns: Sequence[Column]) -> None:
        self.windowing = windowing
        self.columns = columns
        self.watermark = START_OF_TIME
        self.now = 0
        self.output_watermark = START_OF_TIME
        self.late: list[Late] = []
        # Keys are held by their ordering, which is hashable and treats equal keys alike.
        self._keys: dict[Any, tuple[Any, dict[Any, WindowState]]] = {}

    @cached_property
    def windows(self) -> Windows:
        """The windows, where their bounds follow from the times of elements."""
        return windows_of(self.windowing.where)

    def take(
        self, elements: Iterable[tuple[Any, Element]], watermark: int, now: int
    ) -> list[Emission]:
        """One step: elements that come together at ``now``, each with its key; then the watermark,
        before which all elements have come; then the clock.
        """
        before, self.now = self.now, max(self.now, now)
        emissions = self._take_bundle(elements)
        emissions += self._advance_watermark(watermark)
        return emissions + self._advance_clock(before)

    def close(self) -> None:
        """Nothing is held open."""

    def _take_bundle(self, elements: Iterable[tuple[Any, Element]]) -> list[Emission]:
        by_key: dict[Any, list[Element]] = {}
        for key, element in elements:
            self._keys.setdefault(ordering(key), (key, {}))
            by_key.setdefault(ordering(key), []).append(element)
        touched = [state for key, mine in by_key.items() for state in self._add(key, mine)]
        return self._ask(touched)

    def _advance_watermark(self, watermark: int) -> list[Emission]:
        if watermark <= self.watermark:
            return []
        before, self.watermark = self.watermark, watermark
        if not self.windowing.where.by_watermark and watermark < END_OF_TIME:
            return []
        due = [
            state
            for state in self._live()
            if before < state.window.end <= self.watermark or self._expired(state)
        ]
        return self._ask(due, passing_the_end_since=before)

    def _advance_clock(self, before: int) -> list[Emission]:
        if self.now == before:
            return []
        return self._ask(
            state
            for state in self._live()
            if any(before <= deadline < self.now for deadline in state.machine.deadlines())
            or self._expired(state)
        )

    def advance_output_watermark(self) -> int:
        """The watermark for whoever reads this grouping's panes; call it after each move.

        It follows the input, held back by what will be emitted behind it.
        """
        holds = (hold for state in self._live() for hold in self._holds(state))
        self.output_watermark = max(self.output_watermark, min(self.watermark, *holds, END_OF_TIME))
        return self.output_watermark

    def _live(self) -> list[WindowState]:
        return [state for _, windows in self._keys.values() for state in windows.values()]

    def _holds(self, state: WindowState) -> Iterator[int]:
        """Event times behind which a window will still emit.

        Elements that came before the window's end hold until their pane is out, so that it is not
        late downstream. Elements that came after it need no hold: their pane leaves before the
        window expires.
        """
        by_watermark = self.windowing.where.by_watermark
        if state.came_before_the_end if by_watermark else state.new:
            yield state.timestamp()
        yield from state.owed()

    def _ended(self, state: WindowState) -> bool:
        return self.windows.ended(state.window, self.watermark, self.now)

    def _expired(self, state: WindowState) -> bool:
        return self._too_late(state.window)

    def _too_late(self, window: Interval) -> bool:
        lateness = self.windowing.allowed_lateness
        return self.windows.expired(window, self.watermark, self.now, lateness)

    def _moment(self, state: WindowState) -> Moment:
        return Moment(self._ended(state), self.now, self.windowing.where.merging)

    def _add(self, key_order: Any, elements: list[Element]) -> list[WindowState]:
        """Puts elements of one key into their windows; the open windows that were touched."""
        key, windows = self._keys[key_order]
        accepted: list[tuple[Interval, Element]] = []
        for element in elements:
            assigned = self.windows.assign(self.windows.instant(element.time, self.now))
            if not assigned:
                self.late.append(Late(key, element, None, "no window"))
            for window in assigned:
                if self._too_late(window):
                    self.late.append(Late(key, element, window, "expired"))
                elif self._closed(window, windows):
                    self.late.append(Late(key, element, window, "closed"))
                else:
                    accepted.append((window, element))
        home = self._merge_windows(key, windows, {window for window, _ in accepted})
        touched: dict[Interval, WindowState] = {}
        for window, element in accepted:
            state = windows[home[window]]
            state.add(element, self.watermark)
            state.machine.on_element(self._moment(state))
            touched[state.window] = state
        return list(touched.values())

    def _closed(self, window: Interval, windows: dict[Interval, WindowState]) -> bool:
        """Whether the window is, or would become part of, one whose trigger has finished."""
        closed = (state.window for state in windows.values() if state.closed)
        return any(len(self.windows.merge((window, other))) == 1 for other in closed)

    def _merge_windows(
        self, key: Any, windows: dict[Interval, WindowState], new: set[Interval]
    ) -> dict[Interval, Interval]:
        """Makes the windows of new elements live; which live window each became part of."""
        home = {}
        merging = windows if self.windowing.where.merging else ()
        others = {window for window in merging if not windows[window].closed}
        for union, members in self.windows.merge(new | others).items():
            merged = [windows.pop(member) for member in members if member in windows]
            if len(merged) == 1 and merged[0].window == union:
                windows[union] = merged[0]  # nothing grew: its history continues
            else:
                windows[union] = self._join(key, union, merged)
            home.update(dict.fromkeys(members, union))
        return home

    def _fresh(self, key: Any, window: Interval) -> WindowState:
        return WindowState(key, window, machine(self.windowing.when), self.windowing.timestamp)

    def _join(self, key: Any, union: Interval, merged: list[WindowState]) -> WindowState:
        joined = self._fresh(key, union)
        if merged:
            joined.machine.merge([state.machine for state in merged], self._moment(joined))
        for state in merged:
            joined.take_over(state)
        return joined

    def _ask(
        self, states: Iterable[WindowState], passing_the_end_since: int | None = None
    ) -> list[Emission]:
        """Asks each open window's trigger once, and emits what is due; then expired ones go."""
        emissions: list[Emission] = []
        asked = sorted(states, key=_order)
        for state in asked:
            if state.closed:
                continue
            moment = self._moment(state)
            fires = state.machine.should_fire(moment)
            if fires:
                state.machine.on_fire(moment)
                state.closed = state.machine.finished
            expires = self._expired(state)
            if fires or expires:
                since = passing_the_end_since
                passing = since is not None and since < state.window.end <= self.watermark
                emissions += self._emit(state, fires, expires, passing)
        gone = {id(state) for state in asked if self._expired(state)}
        for _, windows in self._keys.values():
            for name in [name for name, state in windows.items() if id(state) in gone]:
                del windows[name]
        self._keys = {k: kept for k, kept in self._keys.items() if kept[1]}
        return emissions

    def _emit(
        self, state: WindowState, fires: bool, expires: bool, passing_the_end: bool
    ) -> list[Emission]:
        timing = self._timing(state, passing_the_end)
        last = expires or state.closed
        emits = (
            bool(state.new)
            or (fires and timing == "ON_TIME" and self.windowing.on_time == "always")
            or (last and self.windowing.closing == "always")
        )
        emissions = self._pane(state, timing, last) if emits else []
        state.fired(discard=self.windowing.refine is Refinement.DISCARDING)
        return emissions

    def _timing(self, state: WindowState, passing_the_end: bool) -> Timing:
        if not self._ended(state):
            return "EARLY"
        if not self.windowing.where.by_watermark:
            return "ON_TIME"
        # After an ON_TIME pane nothing new can have come before the end, so all others are LATE.
        return "ON_TIME" if passing_the_end or state.came_before_the_end else "LATE"

    def _pane(self, state: WindowState, timing: Timing, last: bool) -> list[Emission]:
        info = PaneInfo(timing, state.index, state.index == 0, last)
        contents = state.contents()
        pane = Emission(
            state.key, state.window, summarise(self.columns, contents), info, "+", state.timestamp()
        )
        emissions = [pane]
        if self.windowing.refine is Refinement.RETRACTING:
            emissions = self._refined(state, pane if contents else None, info)
        if emissions and emissions[-1] is pane:
            state.index += 1
        return emissions

    def _refined(self, state: WindowState, pane: Emission | None, info: PaneInfo) -> list[Emission]:
        """The retractions of what was emitted before, then the pane; nothing if nothing changed."""
        if pane and [_identity(e) for e in state.emitted] == [_identity(pane)]:
            return []
        back = [
            Emission(e.key, e.window, e.value, info, "-", e.timestamp, taken_back=e.info)
            for e in state.emitted
        ]
        state.emitted = [pane] if pane else []
        return back + state.emitted


def _order(state: WindowState) -> tuple[Any, ...]:
    window = state.window
    return window.end, window.start, ordering(state.key), window.index or 0


def _identity(emission: Emission) -> tuple[Any, ...]:
    return emission.window, ordering(emission.value)
