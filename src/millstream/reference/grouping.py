"""GroupByKeyAndWindow with panes: the heart of the model, for one grouping of a program.

The order of things is §14's: a bundle merges windows, adds all its elements and then asks each
touched window's trigger once; a moved watermark or clock asks each window whose timer is due once.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from typing import Any, Protocol

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
from millstream.reference.windows import windows_of


class Groups(Protocol):
    """A grouping that runs: what the reference and every other engine do for an interpreter."""

    late: list[Late]

    def take(
        self, elements: Iterable[tuple[Any, Element]], watermark: int, now: int
    ) -> list[Emission]: ...

    def advance_output_watermark(self) -> int: ...

    def close(self) -> None: ...


MakeGroups = Callable[[Windowing, Sequence[Column], bool], Groups]
"""Makes a grouping of its settings and aggregates; the flag is whether it takes retractions."""


def reference_groups(
    windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
) -> Groups:
    """The plainly correct grouping."""
    return GroupByKeyAndWindow(windowing, columns)


class GroupByKeyAndWindow:
    """The state of one grouping: for each key its live windows, and its watermark.

    A pane's value is a tuple of its aggregates'. ``late`` collects what was dropped; whoever drives
    the grouping takes it from there.
    """

    def __init__(self, windowing: Windowing, columns: Sequence[Column]) -> None:
        self.windowing = windowing
        self.windows = windows_of(windowing.where)
        self.columns = columns
        self.watermark = START_OF_TIME
        self.now = 0
        self.output_watermark = START_OF_TIME
        self.late: list[Late] = []
        # Keys are held by their ordering, which is hashable and treats equal keys alike.
        self._keys: dict[Any, tuple[Any, dict[Interval, WindowState]]] = {}

    def take(
        self, elements: Iterable[tuple[Any, Element]], watermark: int, now: int
    ) -> list[Emission]:
        """One step: elements that come together at ``now``, each with its key; then the watermark,
        before which all elements have come; then the clock.
        """
        before, self.now = self.now, max(self.now, now)
        emissions = self._take_bundle(elements)
        emissions += self._advance_watermark(watermark)
        return emissions + self._ask_the_due(before)

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
        due = [
            state
            for state in self._live()
            if before < state.window.end <= self.watermark or self._expired(state.window)
        ]
        emissions = self._ask(due, passing_the_end_since=before)
        for _, windows in self._keys.values():
            for window in [w for w in windows if self._expired(w)]:
                del windows[window]
        self._keys = {k: kept for k, kept in self._keys.items() if kept[1]}
        return emissions

    def _ask_the_due(self, before: int) -> list[Emission]:
        if self.now == before:
            return []
        return self._ask(
            state
            for state in self._live()
            if any(before <= deadline < self.now for deadline in state.machine.deadlines())
        )

    def advance_output_watermark(self) -> int:
        """The watermark for whoever reads this grouping's panes; call it after each move.

        It follows the input, held back by what will be emitted behind it.
        """
        holds = (hold for state in self._live() for hold in state.holds())
        self.output_watermark = max(self.output_watermark, min(self.watermark, *holds, END_OF_TIME))
        return self.output_watermark

    def _live(self) -> list[WindowState]:
        return [state for _, windows in self._keys.values() for state in windows.values()]

    def _expired(self, window: Interval) -> bool:
        return self.watermark >= self.windows.expiry(window, self.windowing.allowed_lateness)

    def _moment(self, window: Interval) -> Moment:
        merging = self.windowing.where.merging
        return Moment(self.watermark, self.now, window.end, merging)

    def _add(self, key_order: Any, elements: list[Element]) -> list[WindowState]:
        """Puts elements of one key into their windows; the open windows that were touched."""
        key, windows = self._keys[key_order]
        accepted: list[tuple[Interval, Element]] = []
        for element in elements:
            assigned = self.windows.assign(element.time)
            if not assigned:
                self.late.append(Late(key, element, None, "no window"))
            for window in assigned:
                if self._expired(window):
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
            state.machine.on_element(self._moment(state.window))
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
            joined.machine.merge([state.machine for state in merged], self._moment(union))
        for state in merged:
            joined.take_over(state)
        return joined

    def _ask(
        self, states: Iterable[WindowState], passing_the_end_since: int | None = None
    ) -> list[Emission]:
        """Asks each open window's trigger once, and emits what is due."""
        emissions: list[Emission] = []
        order = sorted(states, key=lambda s: (s.window.end, s.window.start, ordering(s.key)))
        for state in order:
            if state.closed:
                continue
            moment = self._moment(state.window)
            fires = state.machine.should_fire(moment)
            if fires:
                state.machine.on_fire(moment)
                state.closed = state.machine.finished
            expires = self._expired(state.window)
            if fires or expires:
                since = passing_the_end_since
                passing = since is not None and since < state.window.end <= self.watermark
                emissions += self._emit(state, fires, expires, passing)
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
        end = state.window.end
        if self.watermark < end:
            return "EARLY"
        # After an ON_TIME pane nothing new can have come before the end, so all others are LATE.
        came_before_the_end = any(arrived < end for arrived in state.arrivals)
        return "ON_TIME" if passing_the_end or came_before_the_end else "LATE"

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


def _identity(emission: Emission) -> tuple[Any, ...]:
    return emission.window, ordering(emission.value)
