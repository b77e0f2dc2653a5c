"""GroupByKeyAndWindow where the order of a key's rows makes its windows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

from millstream.model.instants import END_OF_TIME
from millstream.model.ordered_windows import Ordered
from millstream.model.windows import Interval
from millstream.reference.contents import WindowState
from millstream.reference.elements import Element, Emission, Late
from millstream.reference.grouping import GroupByKeyAndWindow
from millstream.reference.ordered_windows import Sequence, sequence_of


class GroupByKeyInOrder(GroupByKeyAndWindow):
    """Knows the windows of a key by their indexes. They end by rows, or incomplete by a flush.

    A window that has ended expires with that. No row is late, wherever the watermark is.
    """

    def __init__(self, *arguments: Any) -> None:
        super().__init__(*arguments)
        self._sequences: dict[Any, Sequence] = {}

    def _add(self, key_order: Any, elements: list[Element]) -> list[WindowState]:
        """Puts elements into their windows; the windows that were touched, or have ended."""
        key, windows = self._keys[key_order]
        sequence = self._sequences.setdefault(key_order, sequence_of(self.windowing.where))
        touched: dict[int, WindowState] = {}
        for element in sorted(elements, key=lambda each: each.time):
            indexes = sequence.place(element)
            if not indexes:
                self.late.append(Late(key, element, None, "no window"))
            for index in indexes:
                own = Interval(element.time, element.time + 1, index)
                if index in windows and windows[index].closed:
                    self.late.append(Late(key, element, own, "closed"))
                    continue
                state = windows.setdefault(index, self._opened(key, own))
                state.window = _widened(state.window, own)
                state.add(element, self.watermark)
                state.machine.on_element(self._moment(state))
                touched[index] = state
        for index, state in windows.items():
            state.ended = index < sequence.ended
            if state.ended:
                touched[index] = state
        return list(touched.values())

    def _opened(self, key: Any, window: Interval) -> WindowState:
        return replace(self._fresh(key, window), opened=self.now)

    def _advance_watermark(self, watermark: int) -> list[Emission]:
        """The end of the input is the end of all windows; no other watermark ends any."""
        if watermark >= END_OF_TIME:
            for key_order in self._keys:
                self._flush(key_order)
        return super()._advance_watermark(watermark)

    def _advance_clock(self, before: int) -> list[Emission]:
        kind = self.windowing.where
        assert isinstance(kind, Ordered)
        if kind.flush is not None:
            for key_order, (_, windows) in self._keys.items():
                if any(state.opened + kind.flush < self.now for state in windows.values()):
                    self._flush(key_order)
        return super()._advance_clock(before)

    def _flush(self, key_order: Any) -> None:
        """Ends all windows of a key."""
        _, windows = self._keys[key_order]
        for state in windows.values():
            state.ended = True
        self._sequences[key_order].restart(max(windows) + 1)

    def _ended(self, state: WindowState) -> bool:
        return state.ended

    def _expired(self, state: WindowState) -> bool:
        return state.ended

    def _holds(self, state: WindowState) -> Iterator[int]:
        """A pane is still to come, and takes back all that was emitted before."""
        yield from super()._holds(state)
        yield from (emission.timestamp for emission in state.emitted)


def _widened(window: Interval, other: Interval) -> Interval:
    return Interval(min(window.start, other.start), max(window.end, other.end), window.index)
