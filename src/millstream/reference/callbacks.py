"""What callbacks of a processor are given: an output for rows, and the timers of their key."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import datetime
from functools import lru_cache
from typing import Any, NamedTuple

from millstream.model.durations import Duration, not_negative
from millstream.model.errors import MillstreamError, RunError
from millstream.model.instants import LAST, Instant, instant
from millstream.model.processors import moment
from millstream.model.windows import Interval
from millstream.plan.operators.process import Processing
from millstream.plan.types.rows import row_of
from millstream.plan.types.schema import Schema
from millstream.plan.types.values import MisfitError, keeping
from millstream.reference.processor_clock import Clock


class Setting(NamedTuple):
    """A timer that is set: when it fires, the event time of what it emits, and whether that holds
    the output watermark.
    """

    time: int
    output_time: int
    holds: bool


class Outputs:
    """What the callbacks emit, by tag. ``time`` is the event time of what is emitted now."""

    def __init__(self, what: Processing, checks_later: bool = False) -> None:
        self.time: int | None = None
        self.tagged = {tag: TaggedOutput(self, what, tag, checks_later) for tag in what.outputs}
        self.rows = self.tagged["rows"]

    def mark(self) -> list[int]:
        """How much has been emitted."""
        return [len(each.rows) for each in self.tagged.values()]

    def clear(self) -> None:
        """Begins anew, once what was emitted has been taken."""
        self.back_to([0] * len(self.tagged))

    def back_to(self, mark: list[int]) -> None:
        """Takes back what was emitted since."""
        for each, length in zip(self.tagged.values(), mark, strict=True):
            del each.rows[length:], each.times[length:], each.signs[length:]


class TaggedOutput:
    """Takes the rows of one output: see ``model.processors.Output``.

    ``signs`` are those of the rows: 1, or -1 of one that is taken back.
    """

    def __init__(
        self, outputs: Outputs, what: Processing, tag: str, checks_later: bool = False
    ) -> None:
        self.rows: list[dict[str, Any]] = []
        self.times: list[int | None] = []
        self.signs: list[int] = []
        self._outputs = outputs
        self._schema: Schema = what.outputs[tag]
        self._keeps = [(field.name, keeping(field.type)) for field in self._schema]
        self._what = what
        self._tag = tag
        self._retracts = what.retracts and tag == "rows"
        # A list or map in a row may be one that the callback changes after it was emitted.
        nested = any("<" in str(field.type) for field in self._schema)
        self._checks_later = checks_later and not nested

    def emit(self, row: Any = None, /, **columns: Any) -> None:
        """Emits a row."""
        if row is not None or not self._checks_later:
            columns = self.checked(columns if row is None else row)
        self.rows.append(columns)
        self.times.append(self._outputs.time)
        self.signs.append(1)

    def retract(self, row: Any = None, /, **columns: Any) -> None:
        """Takes back a row."""
        if not self._retracts:
            raise self._what.cannot_retract(self._tag)
        self.emit(row, **columns)
        self.signs[-1] = -1

    def to(self, tag: str, row: Any = None, /) -> TaggedOutput:
        """The output of that name."""
        found = self._outputs.tagged.get(tag)
        if found is None or tag == "rows":
            raise self._what.unknown_output(tag)
        if row is not None:
            found.emit(row)
        return found

    def checked(self, given: Any) -> dict[str, Any]:
        """A row as its columns have it, or an error that names what does not fit."""
        if type(given) is dict and len(given) == len(self._keeps):
            try:
                return {name: keep(given[name]) for name, keep in self._keeps}
            except (KeyError, MisfitError):
                pass  # the slow way knows what is wrong
        what = f"a row that {self._what.name} emits"
        if self._tag != "rows":
            what += f" to {self._tag!r}"
        return row_of(given, self._schema, what=what, step=self._what.step)


class GivenTimers:
    """The timers as callbacks see them: one attribute for each, and nothing that a name could hide.

    ``clock`` has the time of the step as ``at``.
    """

    def __init__(self, what: Processing, clock: Any, timers: Mapping[str, Any]) -> None:
        self._name, self._clock = what.name, clock
        vars(self).update(timers)

    @property
    def now(self) -> datetime | None:
        """The clock of the batch."""
        return moment(self._clock.at.now)

    @property
    def watermark(self) -> datetime | None:
        """How far event time has come."""
        return moment(self._clock.at.watermark)

    def __getattr__(self, name: str) -> Any:
        raise AttributeError(
            f"{self._name} has no timer {name!r}: declare it in the class, "
            f"{name} = ms.timer('event_time')"
        )


class TimerSettings:
    """The timers of the key that has its turn; callbacks get ``given``."""

    def __init__(self, what: Processing) -> None:
        self.pending: dict[tuple[str, str], Setting] = {}
        self.since: int | None = None
        """The event time of the row that is handled, or of what the firing timer emits."""
        self.firing: int | None = None
        """When the timer was to fire that is handled."""
        self._lateness = 0 if what.order == "event_time" else what.lateness or 0
        timers = {name: TimerSetting(self, what, name) for name in what.timers}
        self.given = GivenTimers(what, self, timers)

    def begin(
        self, pending: dict[tuple[str, str], Setting], interval: Interval | None, at: Clock
    ) -> None:
        """The turn of a key begins."""
        self.pending, self.at, self.firing = pending, at, None
        self.in_window, self.latest = interval is not None, LAST
        if interval is not None:
            self.latest = min(interval.end + self._lateness, LAST)


class TimerSetting:
    """A timer of the key: see ``model.processors.TimerSetting``."""

    def __init__(self, settings: TimerSettings, what: Processing, name: str) -> None:
        self._settings = settings
        self._what = what
        self._name = name
        self._by_clock = what.timers[name] == "processing_time"

    def set(
        self,
        *,
        after: Duration | None = None,
        at: Instant | None = None,
        tag: str = "",
        output_time: Instant | None = None,
        hold: bool = True,
    ) -> None:
        """Sets the timer, or replaces it."""
        settings = self._settings
        if (after is None) == (at is None):
            raise self._refused("is set neither after= a delay nor at= a time, or both")
        if after is not None:
            time = min(self._from(), LAST) + _delay(after)
            if settings.in_window and not self._by_clock and time > settings.latest:
                if settings.firing == settings.latest:
                    self.clear(tag)  # it cannot fire later than now
                    return
                time = settings.latest
            if time > LAST:
                raise self._refused("would fire after the year 9999", "set it for an earlier time")
        else:
            time = self._instant(at)
            if not self._by_clock and time > settings.latest:
                raise self._refused(
                    "is set for a time after its window has expired",
                    f"write timers.{self._name}.set(after=…), which is cut to that time",
                )
        emits = time if settings.since is None or not self._by_clock else settings.since
        if output_time is not None:
            emits = self._instant(output_time)
            if settings.since is not None and emits < settings.since:
                raise self._refused("has an output_time before the row or timer that sets it")
        settings.pending[self._name, tag] = Setting(time, emits, bool(hold))

    def clear(self, tag: str = "") -> None:
        """Unsets the timer, if it is set."""
        self._settings.pending.pop((self._name, tag), None)

    def time(self, tag: str = "") -> datetime | None:
        """When it fires, if it is set."""
        setting = self._settings.pending.get((self._name, tag))
        return None if setting is None else moment(setting.time)

    def _from(self) -> int:
        """What ``after`` counts from."""
        settings = self._settings
        if self._by_clock:
            return settings.at.now
        since = settings.since if settings.firing is None else settings.firing
        if since is None:
            raise self._refused("is set after= a delay, but the row has no event time")
        return since

    def _instant(self, given: Any) -> int:
        try:
            return instant(given, what=f"the timer {self._name!r}:")
        except MillstreamError as error:
            raise RunError("MS201", error.what, fix=error.fix, step=self._what.step) from None

    def _refused(self, why: str, fix: str | None = None) -> RunError:
        set = f"timers.{self._name}.set"
        return RunError(
            "MS201",
            f"the timer {self._name!r} of {self._what.name} {why}",
            fix=fix or f"write {set}(after='5m') or {set}(at=…)",
            step=self._what.step,
        )


@lru_cache(maxsize=1024)
def _delay(after: Duration) -> int:
    return not_negative(after, what="after")
