"""Runs a processor for one key at a time: its rows, then the timers whose time has come.

This is what callbacks mean, in all engines. Those differ in how they find the keys that have a
turn, and in how they keep state between turns.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.processors import End, Event, Expiry, Row, TimeDomain, Timer, overrides
from millstream.model.windows import Interval
from millstream.plan.operators.process import Processing
from millstream.plan.records import record_text, shown
from millstream.reference.call_times import CallTimes
from millstream.reference.callbacks import Outputs, Setting, TimerSettings
from millstream.reference.functions import cause_of, failure, reason_of
from millstream.reference.processor_clock import Clock
from millstream.reference.state_values import StateValues

_MOST_REPEATS = 10_000
"""So often a timer may fire in one turn without getting later."""


@dataclass(slots=True)
class Held:
    """What is kept of a key between its turns: column values of the state, and the timers."""

    values: tuple[Any, ...]
    timers: dict[tuple[str, str], Setting] = field(default_factory=dict)
    is_known: bool = False
    """Whether a callback has run for the key before."""
    last: int = START_OF_TIME
    """The latest event time of its rows."""
    seen: int = START_OF_TIME
    """The clock when its last row came."""
    written: tuple[int, ...] = ()
    """For each field with a time to live of its own, when it changed last."""


class Due(NamedTuple):
    """Something that happens to a key at a time: a timer fires, a field or all state expires.

    What is due at one time happens in the order of ``rank``: ``TIMER``, ``FIELD``, ``KEY``.
    """

    time: int
    rank: int
    name: str = ""
    """Of the timer, or of the field."""
    tag: str = ""


TIMER, FIELD, KEY = range(3)


class Turns:
    """Runs the callbacks of a processor, and collects what they emit and what is rejected.

    Whoever ``checks_later`` calls ``checked`` of the outputs: rows are then not held to their
    schema one by one, if none of them can be rejected.
    """

    def __init__(self, what: Processing, checks_later: bool = False) -> None:
        self.what = what
        self._careful = what.on_error != "fail" or bool(what.times_of_fields)
        self.outputs = Outputs(what, checks_later and not self._careful)
        self.rejected: list[tuple[str, str]] = []
        """Reasons, and records as text."""
        self.settings, self.times = TimerSettings(what), CallTimes()
        self._processor = what.processor
        self._state_values = StateValues(what)
        self._fields = self._state_values.fields
        self._defaults = self._state_values.defaults
        self._by_rows = overrides(what.processor, "on_rows")
        self._keeps_keys = overrides(what.processor, "on_expiry") or overrides(
            what.processor, "on_end"
        )
        self._life = what.time_to_live
        lives = what.times_of_fields
        self._lives = [(i, lives[f.name]) for i, f in enumerate(self._fields) if f.name in lives]
        self.has_times = bool(
            what.timers
            or self._life
            or self._lives
            or what.window is not None
            or what.order == "event_time"
        )
        self.keeps_windows = what.window is not None and overrides(what.processor, "on_expiry")

    @property
    def fresh(self) -> Held:
        """What is held of a key that is new."""
        return Held(self._defaults, written=(START_OF_TIME,) * len(self._lives))

    def run(
        self, key: dict[str, Any], interval: Interval | None, held: Held, rows: list[Row], at: Clock
    ) -> Held | None:
        """One turn of a key: what is held of it after that, if anything is."""
        self._key, self._interval, self._at = key, interval, at
        self._begin(held)
        if self.what.order == "arrival":
            self._take_all(rows)
            rows = []
        if self.has_times:
            self._run_times(rows)
        if not self._gone and at.watermark >= END_OF_TIME and interval is None:
            self._end()
        return None if self._gone else self._kept()

    def _begin(self, held: Held) -> None:
        self._held, self._gone = held, False
        self._values, self._state = held.values, self._state_values.loaded(held.values)
        self.settings.begin(held.timers, self._interval, self._at)

    def _run_times(self, rows: list[Row]) -> None:
        """What happens by time; rows in the order of event time are in between."""
        fired: dict[tuple[str, str], int] = {}
        self._repeats, taken = 0, 0
        while True:
            due = self._next_due("event_time", self._at.watermark)
            row = rows[taken] if taken < len(rows) else None
            if row is not None and (due is None or row.place_in_time < due.time):
                self._take([row])
                taken += 1
                fired = {}
                continue
            due = due or self._next_due("processing_time", self._at.now)
            if due is None:
                return
            self._happen(due, fired, is_last=row is None)
            if self._gone and row is None:
                return
            if self._gone:  # its state has expired before the next row
                self._begin(self.fresh)

    def next_wakes(self, interval: Interval | None, held: Held) -> Iterator[int]:
        """The event times at which something happens to what is held."""
        for (name, _), setting in held.timers.items():
            if self.what.timers[name] == "event_time":
                yield setting.time
        yield from (due.time for due in self._expiries("event_time", interval, held))

    def next_due(self, interval: Interval | None, held: Held) -> Iterator[int]:
        """The clock times at which something does."""
        for (name, _), setting in held.timers.items():
            if self.what.timers[name] == "processing_time":
                yield setting.time
        yield from (due.time for due in self._expiries("processing_time", interval, held))

    def holds(self, interval: Interval | None, held: Held) -> Iterator[int]:
        """The event times that the output watermark may not pass while this is held."""
        for setting in held.timers.values():
            if setting.holds:
                yield setting.output_time
        if self.keeps_windows and interval is not None:
            yield interval.end - 1

    # What happens, and in which order.

    def _take_all(self, rows: list[Row]) -> None:
        """Takes all rows as they came, before any timer."""
        if not rows:
            return
        self._lapse()
        if self._by_rows:
            self._take(rows)
        elif self._careful:
            for row in rows:
                self._take([row])
        else:
            self._take_quickly(rows)

    def _take_quickly(self, rows: list[Row]) -> None:
        """The same as row by row, where a row that fails ends everything."""
        on_row, state, outputs = self._processor.on_row, self._state, self.outputs
        settings, timers = self.settings, self.settings.given
        out, latest = outputs.rows, self._held.last
        settings.firing, began = None, self.times.now()
        try:
            for row in rows:
                time = row.micros
                settings.since = outputs.time = time
                on_row(row, state, timers, out)
                if time is not None and time > latest:
                    latest = time
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a user's callback raises
            raise self._failure("on_row", row, error) from cause_of(error)
        self.times.add("on_row", began, self._key)
        self._held.last, self._held.seen, self._held.is_known = latest, self._at.now, True

    def _take(self, rows: list[Row]) -> None:
        held, processor = self._held, self._processor
        self.settings.firing = None
        if self._by_rows:
            done = self._call("on_rows", processor.on_rows, rows, rows[-1].micros)
        else:
            done = self._call("on_row", processor.on_row, rows[0], rows[0].micros)
        if done:
            held.last = max(held.last, max(row.place_in_time for row in rows))
            held.seen = self._at.now

    def _next_due(self, domain: TimeDomain, now: int) -> Due | None:
        """What happens next in event time, or by the clock."""
        timers = self.what.timers
        found = [
            Due(setting.time, TIMER, *name)
            for name, setting in self.settings.pending.items()
            if setting.time <= now and timers[name[0]] == domain
        ]
        expiries = self._expiries(domain, self._interval, self._held)
        found += [due for due in expiries if due.time <= now]
        return min(found, default=None)

    def _expiries(self, domain: str, interval: Interval | None, held: Held) -> Iterator[Due]:
        """When state expires."""
        for number, (index, life) in enumerate(self._lives):
            changed = held.written[number]
            if life.domain == domain and changed > START_OF_TIME:
                yield Due(changed + life.length, FIELD, self._fields[index].name)
        if self._life is not None and self._life.domain == domain and interval is None:
            since = held.last if domain == "event_time" else held.seen
            if since > START_OF_TIME:
                yield Due(since + self._life.length, KEY)
        if interval is not None and domain == "event_time":
            late = 0 if self.what.order == "event_time" else self.what.lateness or 0
            yield Due(min(interval.end + late, END_OF_TIME), KEY)

    def _happen(self, due: Due, fired: dict[tuple[str, str], int], is_last: bool) -> None:
        """Runs what is due; ``fired`` are the timers that have fired since the last row."""
        time, rank, name, tag = due
        if rank == KEY:
            self._expire(time)
            return
        if rank == FIELD:
            self._reset([self._fields[index].name for index, _ in self._lives].index(name))
            return
        at, setting = self._at, self.settings.pending.pop((name, tag))
        before = fired.get((name, tag))
        if before is not None and is_last and at.watermark >= END_OF_TIME:
            return  # a timer that sets itself would never end
        self._repeats += before is not None and time <= before
        if self._repeats > _MOST_REPEATS:
            raise RunError(
                "MS229",
                f"the timer {name!r} of key {shown(self._key)} has fired {_MOST_REPEATS:,} times "
                "in one step: on_timer sets it again for a time that has come",
                fix="set it for a later time, or not at all",
                step=self.what.step,
            )
        fired[name, tag] = time
        emits = setting.output_time
        if not setting.holds:
            emits = max(emits, at.watermark_before)
        timer = Timer(self._key, time, self._interval, name, tag)
        by_clock = self.what.timers[name] == "processing_time"
        self.settings.firing = None if by_clock else time
        self._call("on_timer", self._processor.on_timer, timer, emits)

    def _expire(self, time: int) -> None:
        """The key's state ends; its timers do not fire any more."""
        emits: int | None = time
        if self._interval is not None:
            emits = self._interval.end - 1
        elif self._life is not None and self._life.domain == "processing_time":
            emits = self._not_late()
        self._last_call("on_expiry", Expiry(self._key, time, self._interval), emits)

    def _end(self) -> None:
        self._last_call("on_end", End(self._key, None, None), self._not_late())

    def _not_late(self) -> int | None:
        time = max(self._held.last, self._at.watermark_before)
        return None if time <= START_OF_TIME + 1 else time

    def _last_call(self, name: str, event: Event, emits: int | None) -> None:
        if self._held.is_known and overrides(self._processor, name):
            callback = getattr(self._processor, name)
            self._guarded(
                name, event, emits, lambda: callback(event, self._state, self.outputs.rows)
            )
        self._gone = True

    # Calls, and what becomes of one that fails.

    def _call(
        self, name: str, callback: Callable[..., None], event: Any, emits: int | None
    ) -> bool:
        timers, out = self.settings.given, self.outputs.rows
        self.settings.since = emits
        return self._guarded(name, event, emits, lambda: callback(event, self._state, timers, out))

    def _guarded(self, name: str, given: Any, emits: int | None, call: Callable[[], None]) -> bool:
        """Runs a callback; whether it did not fail. One that fails changes nothing."""
        call = self.times.timed(name, self._key, call)
        self.outputs.time = emits
        if not self._careful:
            try:
                call()
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # whatever a user's callback raises
                raise self._failure(name, given, error) from cause_of(error)
            self._held.is_known = True
            return True
        timers, emitted = dict(self.settings.pending), self.outputs.mark()
        try:
            call()
            values = self._state_values.kept(self._state, self._key)
        except KeyboardInterrupt:
            raise
        except BaseException as error:
            if self.what.on_error == "fail":
                raise self._failure(name, given, error) from cause_of(error)
            self.outputs.back_to(emitted)
            self.settings.pending = timers
            self._state = self._state_values.loaded(self._values)
            if self.what.on_error == "reject":
                reason = f"{name} of key {shown(self._key)}: {reason_of(error)}"
                self.rejected.append((reason, record_text(_record(given))))
            return False
        self._note_changes(values, emits)
        self._values, self._held.is_known = values, True
        return True

    def _failure(self, name: str, given: Any, error: BaseException) -> RunError:
        if isinstance(error, RunError) and error.step == self.what.step:
            what = f"{error.what}; it was in {name} for {shown(_record(given))}"
            return RunError(error.code, what, fix=error.fix, step=error.step)
        who = f"{name} of {self.what.name}, for key {shown(self._key)},"
        fix = 'fix it, or write on_error="reject" to send such records to .rejected'
        if self.what.state is None and isinstance(error, AttributeError) and error.obj is None:
            fix = f"declare the state in {self.what.name}: class state: n: int = 0"
        return failure(self.what.step, who, shown(_record(given)), error, fix)

    # State.

    def _kept(self) -> Held | None:
        held = self._held
        held.values = (
            self._values if self._careful else self._state_values.kept(self._state, self._key)
        )
        held.timers = self.settings.pending
        stays = held.timers or held.values != self._defaults
        stays = stays or (held.is_known and self._keeps_keys)
        return held if stays else None

    def _note_changes(self, values: tuple[Any, ...], emits: int | None) -> None:
        """Remembers when fields with a time to live of their own changed."""
        if not self._lives:
            return
        written = list(self._held.written)
        for number, (index, life) in enumerate(self._lives):
            if values[index] != self._values[index]:
                event_time = START_OF_TIME + 1 if emits is None else emits
                written[number] = event_time if life.domain == "event_time" else self._at.now
        self._held.written = tuple(written)

    def _lapse(self) -> None:
        """Resets fields whose time was over before the rows came."""
        at = self._at
        for number, (_, life) in enumerate(self._lives):
            now = at.watermark_before if life.domain == "event_time" else at.now
            changed = self._held.written[number]
            if changed > START_OF_TIME and changed + life.length <= now:
                self._reset(number)

    def _reset(self, number: int) -> None:
        index, _ = self._lives[number]
        values = list(self._values)
        values[index] = self._defaults[index]
        self._values = tuple(values)
        self._state = self._state_values.loaded(self._values)
        written = list(self._held.written)
        written[number] = START_OF_TIME
        self._held.written = tuple(written)


def _record(given: Any) -> Any:
    """What a callback was given, for people: a row, rows, or a timer."""
    if isinstance(given, Timer):
        return {"timer": given.name, "tag": given.tag, "key": given.key, "time": given.time}
    if isinstance(given, Event):
        return {"key": given.key, "time": given.time}
    return given
