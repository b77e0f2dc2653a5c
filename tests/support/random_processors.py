"""Random processors: programs of a small language of state updates, timers and outputs.

A processor does for each event the operations that it has for such events. Each is done or not by
the number that the event has: the value of a row, or what the state has counted.
"""

from __future__ import annotations

import sys
from dataclasses import dataclass, field
from functools import partial
from random import Random
from typing import Any

from pyspark import cloudpickle

import millstream as ms
from millstream.model.script import Elements, ProcessingTime, Step, Watermark
from millstream.plan.types.schema import Schema
from millstream.testing import test_stream

cloudpickle.register_pickle_by_value(sys.modules[__name__])  # workers cannot import what tests do

COLUMNS = Schema.of("script int, k string, v int, at double")
EMITTED = Schema.of("k string, v bigint, what string")
TIMERS = {"a": "event_time", "b": "event_time", "c": "processing_time"}


@dataclass
class State:
    """Fields of all kinds."""

    n: int = 0
    text: str = ""
    last: float | None = None
    seen: list[int] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    tags: set[str] = field(default_factory=set)


@dataclass(frozen=True)
class Operation:
    """What is done for each event whose number has the remainder ``rest``."""

    name: str
    every: int = 1
    rest: int = 0
    by: int = 0
    timer: str = "a"
    tag: str = ""
    options: tuple[tuple[str, Any], ...] = ()


def perform(operations: Any, event: Any, number: int, state: Any, timers: Any, out: Any) -> None:
    for each in operations:
        if number % each.every == each.rest:
            change(each, event, number, state)
            if each.name in OF_TIMERS:
                schedule(each, event, state, timers)
            elif each.name in OF_OUTPUT:
                emit(each, event, state, out)


OF_STATE = ("add", "write", "append", "shorten", "count", "forget", "mark", "unmark", "time")
OF_FAILURE = ("raise", "misfit")
OF_TIMERS = ("set", "set at", "clear", "look")
OF_OUTPUT = ("emit", "alert", "retract")


def change(operation: Operation, event: Any, number: int, state: Any) -> None:
    letter = "abc"[number % 3]
    match operation.name:
        case "add":
            state.n += number + operation.by
        case "write":
            state.text = f"{state.text}{letter}"[-5:]
        case "append":
            state.seen.append(number)
        case "shorten":
            del state.seen[:-2]
        case "count":
            state.counts[letter] = state.counts.get(letter, 0) + operation.by
        case "forget":
            state.counts.pop(letter, None)
        case "mark":
            state.tags.add(letter)
        case "unmark":
            state.tags = set()
        case "time":
            state.last = None if event.time is None else event.time.timestamp()
        case "reset":
            vars(state).update(vars(State()))
        case "misfit":
            state.n = "no number"
        case "raise":
            state.n += 1
            raise ValueError(f"{number}")


def schedule(operation: Operation, event: Any, state: Any, timers: Any) -> None:
    timer, options = getattr(timers, operation.timer), dict(operation.options)
    match operation.name:
        case "set":
            if "output_time" in options and event.time is not None:
                options["output_time"] += event.time.timestamp()
            timer.set(after=operation.by, tag=operation.tag, **options)
        case "set at":
            timer.set(at=float(operation.by), tag=operation.tag, **options)
        case "clear":
            timer.clear(operation.tag)
        case "look":
            state.text = f"{timer.time(operation.tag)} {timers.watermark} {timers.now}"


def emit(operation: Operation, event: Any, state: Any, out: Any) -> None:
    kept = [state.n, state.text, state.last, state.seen, state.counts, sorted(state.tags)]
    what = {name: str(getattr(event, name, "")) for name in ("time", "name", "tag")}
    row = {"k": f"{event.key} {event.window}", "v": state.n, "what": f"{what} {kept}"}
    if operation.name == "alert":
        out.to("alerts", row)
    elif operation.name == "retract":
        out.retract(**row)
    else:
        out.emit(**row)


class RandomProcessor(ms.Processor):
    """Does its operations. Classes that extend it have timers, and say what they override."""

    state = State
    rows: tuple[Operation, ...] = ()
    firings: tuple[Operation, ...] = ()
    endings: tuple[Operation, ...] = ()

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        perform(self.rows, row, row["v"] or 0, state, timers, out)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        perform(self.firings, timer, state.n, state, timers, out)


def _all_rows(self: Any, rows: Any, state: Any, timers: Any, out: Any) -> None:
    for row in rows:
        perform(self.rows, row, row["v"] or 0, state, timers, out)


def _ending(self: Any, event: Any, state: Any, out: Any) -> None:
    perform(self.endings, event, state.n, state, None, out)


class RandomPrograms:
    """Programs and what happens to them; the seed decides on all of it."""

    def __init__(self, seed: int) -> None:
        self.random = Random(seed)

    def program(
        self, shape: str | None = None, script: int | None = None, is_like_a_batch: bool = False
    ) -> ms.Stream:
        """A program of a shape. One of several in a query reads the rows of its ``script``.

        One that ``is_like_a_batch`` depends neither on the clock nor on where the watermark is.
        """
        self._is_like_a_batch = is_like_a_batch
        shape = shape or self.random.choices(SHAPES, weights=(6, 1, 1, 1))[0]
        stream = test_stream(COLUMNS, name="events") if script is None else SHARED
        if script is not None:
            stream = stream.flat_map(partial(_of_script, script), schema=COLUMNS)
        # Steps move the watermark; the policy makes it one of this branch alone.
        stream = stream.with_event_time("at", ms.ascending(ahead=None))
        if shape == "after a grouping":
            stream = (
                stream.key_by("k")
                .window(ms.fixed(5), allowed_lateness=3)
                .trigger(ms.repeatedly(ms.after_count(1)))
                .refine(ms.retracting)
                .aggregate(v=ms.sum("v"))
            )
        stream = self.processed(stream, takes_retractions=shape == "after a grouping")
        if shape == "two":
            stream = self.processed(stream, takes_retractions=True)
        elif shape == "before a grouping":
            windows = stream.key_by("k").window(ms.fixed(5), allowed_lateness=2)
            stream = windows.aggregate(n=ms.count(), total=ms.sum("v"))
        return stream

    def processed(self, stream: ms.Stream, takes_retractions: bool) -> ms.Stream:
        random = self.random
        keyed = stream if random.random() < 0.1 else stream.key_by("k")
        lateness: dict[str, Any] = {"allowed_lateness": random.choice([None, 0, 3])}
        window = random.choice(WINDOWS)
        if window is not None:
            keyed = keyed.window(window, allowed_lateness=random.choice([0, 2]))
            lateness = {}
        on_error = random.choice(["fail", "reject", "reject", "drop"])
        return keyed.process(
            self.processor(takes_retractions, on_error != "fail"),
            schema=EMITTED,
            outputs={"alerts": EMITTED},
            order="event_time" if self._is_like_a_batch else random.choice(ORDERS),
            on_error=on_error,
            **lateness,
        )

    def processor(self, takes_retractions: bool, may_fail: bool) -> type[ms.Processor]:
        random = self.random
        retracts = random.random() < 0.2
        names = [*OF_STATE, "reset", *OF_TIMERS[2:], "set", "set", "emit", "emit", "alert"]
        names += [*OF_FAILURE, "set at"] if may_fail else []
        names += ["retract"] if retracts else []
        if self._is_like_a_batch:
            names = [name for name in names if name != "look"]
        in_timers = [name for name in names if name != "set at"]
        if self._is_like_a_batch:  # a timer that sets itself fires once at the end
            in_timers = [name for name in in_timers if name != "set"]
        lives = [None, None, ms.ttl(4), *([] if self._is_like_a_batch else BY_CLOCK)]
        endings = [name for name in names if name in OF_OUTPUT]
        made: dict[str, Any] = {
            **{name: ms.timer(domain) for name, domain in TIMERS.items()},
            "rows": (*self._operations(names, 6), Operation("emit")),
            "firings": (Operation("add", by=1), *self._operations(in_timers, 3), Operation("emit")),
            "endings": (*self._operations(endings, 1), Operation("emit")),
            "takes_retractions": takes_retractions,
            "retracts": retracts,
            "ttl": random.choice(lives),
        }
        if random.random() < 0.3:
            made["on_rows"] = _all_rows
        for callback in ("on_expiry", "on_end"):
            if random.random() < 0.5:
                made[callback] = _ending
        return type("Drawn", (RandomProcessor,), made)

    def _operations(self, names: list[str], most: int) -> tuple[Operation, ...]:
        return tuple(self._operation(names) for _ in range(self.random.randint(1, most)))

    def _operation(self, names: list[str]) -> Operation:
        random, options = self.random, {}
        if random.random() < 0.3:
            options["hold"] = random.random() < 0.5
        if random.random() < 0.2:
            options["output_time"] = float(random.randint(0, 3))
        every = random.choice([1, 1, 2, 3])
        return Operation(
            random.choice(names),
            every,
            random.randrange(every),
            random.randint(1, 9),
            random.choice(["a", "b"] if self._is_like_a_batch else sorted(TIMERS)),
            random.choice(["", "", "x"]),
            tuple(options.items()),
        )

    def steps(self, most: int = 6, script: int = 0) -> list[Step]:
        """Rows around a watermark that moves on, and a clock that does; then the end, or not."""
        random, made, clock, watermark = self.random, list[Step](), 0, 0
        for _ in range(random.randint(2, most)):
            kind = random.random()
            if kind < 0.5:
                rows = [self.row(script, watermark) for _ in range(random.randint(1, 6))]
                made.append(Elements(rows))
            elif kind < 0.8:
                watermark += random.randint(0, 8)
                made.append(Watermark(watermark))
            else:
                clock += random.randint(0, 6)
                made.append(ProcessingTime(clock))
        return [*made, Watermark.end()] if random.random() < 0.8 else made

    def row(self, script: int, watermark: int) -> dict[str, Any]:
        random = self.random
        return {
            "script": script,
            "k": random.choice(["a", "b", None]),
            "v": random.choice([None, *range(12)]),
            "at": random.choice([None, *[float(watermark + each) for each in range(-5, 9)] * 2]),
        }


SHAPES = ("one", "two", "after a grouping", "before a grouping")
WINDOWS = (
    *(None, None, ms.fixed(5), ms.fixed(4, offset=1)),
    *(ms.sliding(6, 3), ms.sliding(2, 3), ms.calendar("day", timezone="Pacific/Apia")),
)
FIELDS = {"n": ms.ttl(3), "seen": ms.ttl(2, "processing_time"), "counts": ms.ttl(5)}
BY_CLOCK = [ms.ttl(3, "processing_time"), FIELDS]
ORDERS = ("arrival", "event_time")
SHARED = test_stream(COLUMNS, name="events")


def _of_script(number: int, row: dict[str, Any]) -> list[dict[str, Any]]:
    return [row] if row["script"] == number else []
