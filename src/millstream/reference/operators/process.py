"""A processor of a program: what is kept of each key, and the keys that have a turn in a step."""

from __future__ import annotations

from collections.abc import Mapping
from copy import deepcopy
from typing import Any

from millstream.model import processors as user
from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.model.panes import LateReason
from millstream.model.windows import Interval
from millstream.plan.operators.process import Process
from millstream.reference.elements import Element, Late
from millstream.reference.functions import own_copy
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.ordering import ordering
from millstream.reference.processor_clock import Clock, processor_watermark
from millstream.reference.rows import Row, late_row
from millstream.reference.turns import Held, Turns
from millstream.reference.windows import windows_of

_Key = tuple[Any, Interval | None]
"""The ordering of a key, which is hashable, and the window."""


class ProcessOperator:
    """The state of each key, and of each window if there are windows."""

    def __init__(self, node: Process) -> None:
        self.node = node
        self._what = node.processing
        (self._port,) = node.ports
        self._keyed = Keyed(node, self._port)
        self._turns = Turns(self._what)
        self._windows = None if self._what.window is None else windows_of(self._what.window)
        self._names: dict[Any, dict[str, Any]] = {}
        self._held: dict[_Key, Held] = {}
        self._waiting: dict[_Key, list[user.Row]] = {}
        self._watermark = self._output_watermark = START_OF_TIME

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """The rows of each key, then its timers; late rows are set aside."""
        before, self._watermark = self._watermark, max(self._watermark, watermark)
        at = Clock(
            processor_watermark(self._what, before),
            processor_watermark(self._what, self._watermark),
            now,
        )
        late: list[Row] = []
        with in_step(self.node.name):
            arrived = self._arrived(sorted(rows[self._port.name], key=self._order), at, late)
            for key in dict.fromkeys([*arrived, *self._waiting, *self._held]):
                self._turn(key, arrived.get(key, []), at)
        holds = [
            time
            for (_, interval), held in self._held.items()
            for time in self._turns.holds(interval, held)
        ]
        holds += [row.place_in_time for w in self._waiting.values() for row in w]
        reached = min([self._watermark, *holds])
        self._output_watermark = max(self._output_watermark, reached)
        return Output({**self._emitted(), "late": late}, self._output_watermark, self._rejected())

    def close(self) -> None:
        """Nothing is held open."""

    def _order(self, row: Row) -> Any:
        if self._what.order == "arrival":
            return row.place
        return (START_OF_TIME if row.time is None else row.time, row.place)

    def _arrived(self, rows: list[Row], at: Clock, late: list[Row]) -> dict[_Key, list[user.Row]]:
        arrived: dict[_Key, list[user.Row]] = {}
        for row in rows:
            key = self._keyed.key(row.values)
            place = ordering(key)
            self._names.setdefault(place, dict(zip(self._what.keys, key, strict=True)))
            intervals = self._intervals(row)
            if not intervals:
                late.append(_late_row(key, row, None, "no window"))
            for interval in intervals:
                reason = self._late(row, interval, at)
                if reason is None:
                    given = user.Row(own_copy(row.values))
                    given.key, given.interval = own_copy(self._names[place]), interval
                    given.micros = row.time
                    arrived.setdefault((place, interval), []).append(given)
                else:
                    late.append(_late_row(key, row, interval, reason))
        return arrived

    def _intervals(self, row: Row) -> list[Interval | None]:
        if self._windows is None:
            return [None]
        return [*self._windows.assign(START_OF_TIME + 1 if row.time is None else row.time)]

    def _late(self, row: Row, interval: Interval | None, at: Clock) -> LateReason | None:
        """Why a row is late, judged by the watermark as it was before the step."""
        what = self._what
        if what.lateness is None:
            return None
        if interval is not None and what.order == "arrival":
            assert self._windows is not None
            before, now = at.watermark_before, at.now
            expired = self._windows.expired(interval, before, now, what.lateness)
            return "expired" if expired else None
        allowed = what.lateness if what.order == "arrival" else 0
        time = START_OF_TIME + 1 if row.time is None else row.time
        return "behind" if time < at.watermark_before - allowed else None

    def _turn(self, key: _Key, rows: list[user.Row], at: Clock) -> None:
        place, interval = key
        if self._what.order == "event_time":
            waiting = [*self._waiting.pop(key, []), *rows]
            waiting.sort(key=lambda row: row.place_in_time)
            rows = [row for row in waiting if row.place_in_time < at.watermark]
            if len(rows) < len(waiting):
                self._waiting[key] = waiting[len(rows) :]
        held = self._held.pop(key, None) or self._turns.fresh
        kept = self._turns.run(own_copy(self._names[place]), interval, deepcopy(held), rows, at)
        if kept is not None:
            self._held[key] = kept

    def _emitted(self) -> dict[str, list[Row]]:
        made = {}
        for tag, output in self._turns.outputs.tagged.items():
            made[tag] = [
                Row(self._marked(tag, values, sign), time, "+" if sign > 0 else "-")
                for values, time, sign in zip(output.rows, output.times, output.signs, strict=True)
            ]
        self._turns.outputs.clear()
        return made

    def _marked(self, tag: str, values: dict[str, Any], sign: int) -> dict[str, Any]:
        if tag != ROWS or not self._what.retracts:
            return values
        return {**values, "kind": "+" if sign > 0 else "-"}

    def _rejected(self) -> list[tuple[str, str]]:
        rejected, self._turns.rejected = self._turns.rejected, []
        return rejected


def _late_row(key: Any, row: Row, interval: Interval | None, reason: LateReason) -> Row:
    time = START_OF_TIME + 1 if row.time is None else row.time
    return late_row(Late(key, Element(row.values, time, row.kind), interval, reason))
