"""Processors with unusual state, keys and timers, the rows that they get, and what they emit."""

from __future__ import annotations

import math
import sys
from dataclasses import dataclass, field
from datetime import UTC, date, datetime, timedelta
from decimal import Decimal
from typing import Any, NamedTuple

from pyspark import cloudpickle

import millstream as ms
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.testing import test_stream

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what tests do

KEYS = ["a", None, "", "ü☃😀"]
EMITTED = "key string, what string"
YEAR_1, YEAR_9999 = -62_135_596_800.0, 253_402_300_799.0


def rows(*times: float) -> Elements:
    """A row of each key at each time; ``n`` counts the rows of a key."""
    return Elements(
        [{"key": key, "n": n, "at": at} for n, at in enumerate(times, 1) for key in KEYS]
    )


STEPS: list[Step] = [
    rows(YEAR_1, -1.5, 0.0),
    rows(90_000.0, YEAR_9999),
    Watermark(100.0),
    ProcessingTime(50.0),
    rows(100.0),
    Watermark(200_000.0),
    Watermark(math.inf),
]


class Emits(ms.Processor):
    """Emits what ``said`` returns of the state, for each row."""

    def said(self, row: Any, state: Any) -> Any:
        raise NotImplementedError

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(key=row["key"], what=repr(self.said(row, state)))


@dataclass
class Inner:
    numbers: list[int] = field(default_factory=list)
    best: Decimal | None = None


@dataclass
class Outer:
    inner: Inner = field(default_factory=Inner)
    maybe: Inner | None = None
    by_name: dict[str, list[Inner]] = field(default_factory=dict)


class NestedRecords(Emits):
    state = Outer

    def said(self, row: Any, state: Any) -> Any:
        before = repr(state)
        state.inner.numbers.append(row["n"])
        state.inner.best = Decimal("0.25") * row["n"]
        state.maybe = Inner([row["n"]]) if state.maybe is None else None
        state.by_name.setdefault(row["key"] or "none", []).append(Inner(best=Decimal(row["n"])))
        return before


class EveryType(Emits):
    class state:  # noqa: N801
        when: datetime | None = None
        local: datetime | None = None
        day: date | None = None
        price: Decimal = Decimal("0.1")
        raw: bytes = b""
        yes: bool = False
        ratio: float = 0
        text: str = ""

    def said(self, row: Any, state: Any) -> Any:
        before = repr(vars(state))
        state.when, state.local, state.day = row.time, datetime(2024, 5, 1), row.time.date()
        state.price, state.raw, state.yes = -state.price, state.raw + b"\x00\xff", not state.yes
        state.ratio = float("inf") if state.ratio == 0 else float("nan")
        state.text += row["key"] or "\0"
        return before


class SetsAndMaps(Emits):
    class state:  # noqa: N801
        days: set[date] = set()  # noqa: RUF012
        pairs: set[tuple[int, int]] = field(default_factory=set)
        lists: dict[int, list[str | None]] = {}  # noqa: RUF012
        sets: dict[str, set[int]] = {}  # noqa: RUF012
        some: list[int | None] | None = None

    def said(self, row: Any, state: Any) -> Any:
        before = [sorted(state.days), sorted(state.pairs), state.lists, state.sets, state.some]
        text = repr(before)
        state.days.add(row.time.date())
        state.pairs.add((row["n"], -row["n"]))
        state.lists.setdefault(row["n"], []).append(row["key"])
        state.sets.setdefault("n", set()).add(row["n"])
        state.some = None if row["n"] == 2 else [*(state.some or []), None, row["n"]]
        return text


class Place(NamedTuple):
    x: int = 0
    y: float = 0


@dataclass
class Visited:
    places: tuple[Place, ...] = ()


class Route(Visited):  # fields of its own, and of a dataclass
    here: Place = Place()
    steps: int = field(default=0, kw_only=True)

    def far(self) -> bool:
        self._far = self.here.x > 1  # what a class calls private may be lost
        return self._far


class Routes(Emits):
    state = Route

    def said(self, row: Any, state: Any) -> Any:
        before = repr(state), state.far()
        state.places += (state.here,)
        state.here = state.here._replace(x=state.here.x + row["n"])
        state.steps += 1
        return before


class FarTimers(Emits):
    """Timers before 1970, up to the year 9999, and for times that have passed."""

    then = ms.timer("event_time")
    begin = ms.timer("processing_time")

    def said(self, row: Any, state: Any) -> Any:
        return timers_text(row.time)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        timers.then.set(at=row.time, tag="☃")
        timers.then.set(at=YEAR_1, tag="first")
        timers.then.set(at=datetime(9999, 12, 31, tzinfo=UTC), tag="last")
        timers.begin.set(at=-5.5)
        timers.begin.set(after=timedelta(seconds=50), tag="later")
        timers.then.clear("unknown")

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        what = f"{timer.name} {timer.tag} {timers_text(timer.time)} {timers_text(timers.now)}"
        out.emit(key=timer.key["key"], what=what)


def timers_text(time: datetime | None) -> str:
    return "none" if time is None else time.isoformat()


class SetsItself(ms.Processor):
    again = ms.timer("event_time")

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        if row["at"] == 0:
            timers.again.set(after="20s")

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += 1
        out.emit(key=timer.key["key"], what=f"{state.n}")
        if state.n < 8:
            timers.again.set(after="20s")

    def on_end(self, end: Any, state: Any, out: Any) -> None:
        out.emit(key=end.key["key"], what=f"end {state.n}")


class FailsLater(ms.Processor):
    """Fails in each callback but that of rows, after it has changed all that there is."""

    soon = ms.timer("event_time")
    ttl = ms.ttl("1h")

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += 1
        if row["at"] == 0:
            timers.soon.set(after="5s")
        out.emit(key=row["key"], what=f"{state.n}")

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += 100
        timers.soon.set(after="5s")
        out.emit(key=timer.key["key"], what="lost")
        raise ValueError(f"no timer for {timer.key['key']}")

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(key=expiry.key["key"], what="lost")
        raise SystemExit(f"expired with {state.n}")


class FailsInMany(ms.Processor):
    def on_rows(self, rows: Any, state: Any, timers: Any, out: Any) -> None:
        for row in rows:
            out.emit(key=row["key"], what=f"{row['n']} of {len(rows)}")
            if row["n"] == 2 and row["key"] is None:
                raise KeyError(row["n"])


class WrongValue(Emits):
    class state:  # noqa: N801
        n: int = 0
        prices: list[Decimal] = []  # noqa: RUF012

    def said(self, row: Any, state: Any) -> Any:
        before = repr(vars(state))
        state.prices.append(Decimal(row["n"]))
        wrong: list[Any] = [1, "one", 1.5, 2**70, True]
        state.n = wrong[row["n"]] if row["key"] else row["n"]
        return before


class Undeclared(Emits):
    class state:  # noqa: N801
        n: int = 0

    def said(self, row: Any, state: Any) -> Any:
        state.n += 1
        if row["n"] == 2:
            state.m = 1
        return state.n


class ByWindow(ms.Processor):
    """State of each window, also of windows before 1970 and at the end of time."""

    close = ms.timer("event_time")

    class state:  # noqa: N801
        seen: list[str] = []  # noqa: RUF012

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.seen.append(timers_text(row.time))
        timers.close.set(after="999999d")  # cut to the end of the window

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(key=timer.key["key"], what=f"{timer.window.end} {state.seen}")

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(key=expiry.key["key"], what=f"{expiry.window.start} {state.seen}")


class InOrder(SetsAndMaps):
    """The same, in the order of event time."""


@dataclass(frozen=True)
class Odd:
    """A processor, and how it runs."""

    processor: type[ms.Processor]
    options: dict[str, Any] = field(default_factory=dict)
    window: Any = None

    def stream(self) -> ms.Stream:
        """Its program, over a source of its own."""
        name = self.processor.__name__.lower()
        source = test_stream("key string, n int, at double", event_time="at", name=name)
        keyed = source.key_by("key")
        keyed = keyed if self.window is None else keyed.window(self.window)
        return keyed.process(self.processor, schema=EMITTED, **self.options)

    def seen(self, made: Any) -> dict[Any, list[Any]]:
        """What was emitted and rejected: in which order keys and windows have turns is open."""
        found: dict[Any, list[Any]] = {"rejected": sorted(map(repr, made.rejected))}
        for row in made:
            what = (row.time, row.values["what"])
            found.setdefault((row.step, row.values["key"]), []).append(what)
        return found if self.window is None else {each: sorted(found[each]) for each in found}


REJECTS = {"on_error": "reject"}
ODD = [
    Odd(NestedRecords),
    Odd(EveryType),
    Odd(SetsAndMaps),
    Odd(Routes),
    Odd(FarTimers),
    Odd(SetsItself),
    Odd(FailsLater, REJECTS),
    Odd(FailsInMany, REJECTS),
    Odd(WrongValue, REJECTS),
    Odd(Undeclared, REJECTS),
    Odd(ByWindow, window=ms.fixed("1d")),
    Odd(InOrder, {"order": "event_time"}),
]
