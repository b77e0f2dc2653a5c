"""What callbacks of a processor mean: the order of rows and timers, state, expiry and failures."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME
from millstream.plan.names import with_distinct_names
from millstream.reference.interpreter import Interpreter
from millstream.reference.rows import Row
from millstream.testing import test_stream
from millstream.testing.engines import operators_of

COLUMNS = "key string, value int, at double"
SECOND = 1_000_000


class Run:
    """A processor over a source that the test drives."""

    def __init__(self, stream: ms.Stream, engine: str) -> None:
        (self.node,) = with_distinct_names(stream.node)
        self._interpreter = Interpreter(self.node, operators=operators_of(engine))

    def step(self, rows: Any = None, watermark: Any = None, now: Any = None) -> list[Any]:
        given = [dict(zip(("key", "value", "at"), row, strict=True)) for row in rows or []]
        self.made = self._interpreter.step(
            rows={"test-1": given},
            watermarks={} if watermark is None else {"test-1": watermark},
            now=now,
        )
        return [row.values["what"] for row in self.made.rows[self.node]]

    def tagged(self, tag: str) -> list[Row]:
        return self.made.tagged[self.node][tag]  # type: ignore[index]

    @property
    def times(self) -> list[int | None]:
        return [row.time for row in self.made.rows[self.node]]


@pytest.fixture(params=["reference", "columnar"])
def engine(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def processed(processor: Any, engine: str, window: Any = None, **options: Any) -> Run:
    stream = test_stream(COLUMNS, event_time="at").key_by("key")
    stream = stream if window is None else stream.window(window, allowed_lateness=2)
    return Run(stream.process(processor, schema="what string", **options), engine)


class Count(ms.Processor):
    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.n += row["value"]
        out.emit(what=f"{row.key['key']} {state.n}")


def test_state_is_kept_for_each_key_and_null_is_a_key(engine: str) -> None:
    run = processed(Count, engine)
    made = run.step([("a", 1, 0.0), (None, 5, 0.0), ("a", 2, 0.0)])
    assert sorted(made) == ["None 5", "a 1", "a 3"]  # the order of keys is not fixed
    assert run.step([(None, 1, 0.0)]) == ["None 6"]
    assert run.step([("a", 1, 0.0)]) == ["a 4"]


class Ticks(ms.Processor):
    tick = ms.timer("event_time")
    tock = ms.timer("processing_time")

    class state:  # noqa: N801
        fired: list[str] = field(default_factory=list)

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        timers.tick.set(after=row["value"], tag=str(row["value"]))
        timers.tock.set(after=row["value"])

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        state.fired.append(timer.name)
        out.emit(what=f"{timer.name} {timer.tag} {timer.time:%S} {len(state.fired)}")
        if timer.tag == "3":
            timers.tick.set(after=1, tag="again")


def test_timers_fire_in_order_and_one_that_is_set_for_a_time_that_has_come_fires_too(
    engine: str,
) -> None:
    run = processed(Ticks, engine)
    run.step([("a", 5, 0.0), ("a", 3, 0.0), ("a", 9, 0.0)], now=0)
    assert run.step(watermark=2 * SECOND) == []
    fired = run.step(watermark=5 * SECOND)
    assert fired == ["tick 3 03 1", "tick again 04 2", "tick 5 05 3"]
    assert run.times == [3 * SECOND, 4 * SECOND, 5 * SECOND]


def test_setting_a_timer_again_replaces_it_and_the_clock_fires_it_at_its_time(engine: str) -> None:
    run = processed(Ticks, engine)
    run.step([("a", 5, 0.0)], now=0)
    run.step([("a", 7, 1.0)], now=SECOND)
    assert run.step(now=7 * SECOND) == []
    assert run.step(now=8 * SECOND) == ["tock  08 1"]
    # What a timer by the clock emits has the event time of the row that set it.
    assert run.times == [SECOND]


def test_a_timer_by_the_clock_that_was_due_long_ago_fires_once(engine: str) -> None:
    run = processed(Ticks, engine)
    run.step([("a", 5, 0.0)], now=0)
    assert run.step(now=1000 * SECOND) == ["tock  05 1"]
    assert run.step(now=2000 * SECOND) == []


def test_timers_hold_the_output_watermark(engine: str) -> None:
    run = processed(Ticks, engine)
    run.step([("a", 9, 4.0)], now=0)
    run.step(watermark=8 * SECOND)
    # The timer by the clock holds at the row, until it fires.
    assert run._interpreter._watermarks[run.node] == 4 * SECOND
    run.step(now=9 * SECOND)
    assert run._interpreter._watermarks[run.node] == 8 * SECOND


class Looping(ms.Processor):
    tick = ms.timer("event_time")

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        timers.tick.set(after=1)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(what=f"{timer.time:%S}")
        timers.tick.set(after=1)


def test_at_the_end_a_timer_that_sets_itself_fires_once_more(engine: str) -> None:
    run = processed(Looping, engine)
    run.step([("a", 1, 0.0)])
    assert run.step(watermark=3 * SECOND) == ["01", "02", "03"]
    assert run.step(watermark=END_OF_TIME) == ["04"]


def test_at_the_end_a_timer_fires_as_often_as_it_would_have_between_rows(engine: str) -> None:
    run = processed(Looping, engine, order="event_time")
    run.step([("a", 1, 0.0), ("a", 1, 2.5)])
    assert run.step(watermark=END_OF_TIME) == ["01", "02", "03"]


class Endless(Looping):
    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        timers.tick.set(at=timer.time)


def test_a_timer_that_never_gets_later_is_refused(engine: str) -> None:
    run = processed(Endless, engine)
    run.step([("a", 1, 0.0)])
    with pytest.raises(RunError, match="MS229.*the timer 'tick' of key {'key': 'a'} has fired"):
        run.step(watermark=3 * SECOND)


def test_rows_in_event_time_order_wait_for_the_watermark_with_timers_among_them(
    engine: str,
) -> None:
    class Ordered(ms.Processor):
        tick = ms.timer("event_time")

        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            out.emit(what=f"row {row.time:%S}")
            if row["value"]:
                timers.tick.set(after=row["value"])

        def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
            out.emit(what=f"timer {timer.time:%S}")

    run = processed(Ordered, engine, order="event_time")
    assert run.step([("a", 0, 5.0), ("a", 2, 1.0), ("a", 0, 3.0)]) == []
    assert run.step([("a", 0, 2.0)], watermark=4 * SECOND) == [
        "row 01",
        "row 02",
        "timer 03",
        "row 03",
    ]
    assert run.step([("a", 0, 3.5)]) == []
    assert [row.values["reason"] for row in run.tagged("late")] == ["behind"]
    assert run.step(watermark=END_OF_TIME) == ["row 05"]


class Windowed(Count):
    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(what=f"{expiry.key['key']} {expiry.window.start:%S} {state.n}")


def test_each_window_has_its_own_state_which_expires_with_it(engine: str) -> None:
    run = processed(Windowed, engine, window=ms.fixed(10))
    assert run.step([("a", 1, 1.0), ("a", 2, 11.0), ("a", 3, 2.0)]) == ["a 1", "a 4", "a 2"]
    assert run.step([("a", 5, 3.0)], watermark=11 * SECOND) == ["a 9"]
    assert run.step([("a", 1, 4.0)], watermark=12 * SECOND) == ["a 10", "a 00 10"]
    assert run.times == [4 * SECOND, 10 * SECOND - 1]
    assert run.step([("a", 7, 5.0)]) == []
    assert [row.values["reason"] for row in run.tagged("late")] == ["expired"]


class Lives(Count):
    ttl = ms.ttl(5)

    def on_expiry(self, expiry: Any, state: Any, out: Any) -> None:
        out.emit(what=f"gone {state.n}")


def test_state_expires_so_long_after_the_last_row_of_its_key(engine: str) -> None:
    run = processed(Lives, engine)
    run.step([("a", 1, 1.0)])
    run.step([("a", 2, 3.0)])
    assert run.step(watermark=7 * SECOND) == []
    assert run.step(watermark=8 * SECOND) == ["gone 3"]
    assert run.step([("a", 1, 9.0)]) == ["a 1"]


def test_a_row_that_fails_leaves_state_timers_and_output_as_they_were(engine: str) -> None:
    class Fails(ms.Processor):
        tick = ms.timer("event_time")

        class state:  # noqa: N801
            seen: list[int] = field(default_factory=list)

        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            state.seen.append(row["value"])
            timers.tick.set(at=float(row["value"]))
            out.emit(what=str(state.seen))
            if row["value"] == 2:
                raise ValueError("two")

        def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
            out.emit(what=f"{timer.time:%S}")

    run = processed(Fails, engine, on_error="reject")
    assert run.step([("a", 1, 0.0), ("a", 2, 0.0), ("a", 3, 0.0)]) == ["[1]", "[1, 3]"]
    (rejected,) = run.made.rejected[run.node]
    assert rejected.values == {
        "step": "process-1",
        "reason": "on_row of key {'key': 'a'}: ValueError: two",
        "record": '{"key":"a","value":2,"at":0.0}',
    }
    assert run.step(watermark=END_OF_TIME) == ["03"]
    with pytest.raises(RunError, match=r"MS201.*on_row of Fails, for key {'key': 'a'}, failed on"):
        processed(Fails, engine).step([("a", 2, 0.0)])


def test_errors_and_rejected_rows_have_the_name_that_the_step_was_given(engine: str) -> None:
    class Fails(ms.Processor):
        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            raise ValueError("no")

    stream = test_stream(COLUMNS, event_time="at").key_by("key")
    run = Run(stream.process(Fails, schema="what string").named("failing"), engine)
    with pytest.raises(RunError) as caught:
        run.step([("a", 2, 0.0)])
    assert caught.value.step == "failing"
    rejecting = stream.process(Fails, schema="what string", on_error="reject").named("rejecting")
    run = Run(rejecting, engine)
    run.step([("a", 2, 0.0)])
    assert run.made.rejected[run.node][0].values["step"] == "rejecting"


@dataclass
class Typed:
    number: int = 0
    names: set[str] = field(default_factory=set)
    counts: dict[str, int] = field(default_factory=dict)
    inner: Inner | None = None


@dataclass
class Inner:
    values: list[float] = field(default_factory=list)


class Fields(ms.Processor):
    state = Typed

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.names.add(f"n{row['value']}")
        state.counts[str(row["value"])] = state.counts.get(str(row["value"]), 0) + 1
        state.inner = state.inner or Inner()
        state.inner.values.append(row["value"])
        if row["value"] == 7:
            state.number = "seven"
        what = f"{sorted(state.names)} {state.counts} {state.inner.values}"
        out.emit(what=what)


def test_sets_maps_and_dataclasses_come_back_as_they_were(engine: str) -> None:
    run = processed(Fields, engine)
    run.step([("a", 2, 0.0)])
    run.step([("a", 1, 0.0)])
    assert run.step([("a", 2, 0.0)]) == ["['n1', 'n2'] {'2': 2, '1': 1} [2.0, 1.0, 2]"]


def test_a_value_that_does_not_fit_names_its_field_and_key(engine: str) -> None:
    field_and_key = "field 'number' of the state of key {'key': 'a'} is 'seven'"
    with pytest.raises(RunError, match=f"MS202.*{field_and_key}, which does not fit BIGINT"):
        processed(Fields, engine).step([("a", 7, 0.0)])
    run = processed(Fields, engine, on_error="reject")
    assert run.step([("a", 7, 0.0)]) == []
    assert field_and_key in run.made.rejected[run.node][0].values["reason"]


def test_a_processor_that_takes_rows_back_marks_them(engine: str) -> None:
    class Latest(ms.Processor):
        retracts = True

        class state:  # noqa: N801
            value: int | None = None

        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            if state.value is not None:
                out.retract(what=str(state.value))
            state.value = row["value"]
            out.emit(what=str(state.value))

    run = processed(Latest, engine)
    run.step([("a", 1, 0.0), ("a", 2, 0.0)])
    made = [(row.values["kind"], row.values["what"], row.kind) for row in run.made.rows[run.node]]
    assert made == [("+", "1", "+"), ("-", "1", "-"), ("+", "2", "+")]


def test_side_outputs_have_their_own_rows(engine: str) -> None:
    class Both(ms.Processor):
        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            out.to("odd" if row["value"] % 2 else "even", {"n": row["value"]})
            if row["value"] > 5:
                out.to("big").emit(n=1)

    run = processed(Both, engine, outputs={"odd": "n int", "even": "n int"})
    run.step([("a", 1, 0.0), ("a", 2, 0.0), ("b", 3, 0.0)])
    assert sorted(row.values["n"] for row in run.tagged("odd")) == [1, 3]
    assert [row.values["n"] for row in run.tagged("even")] == [2]
    with pytest.raises(RunError, match="emits to 'big', which is none of its outputs"):
        run.step([("a", 6, 0.0)])


def test_in_event_time_order_rows_come_before_timers_by_the_clock(engine: str) -> None:
    class Both(ms.Processor):
        tock = ms.timer("processing_time")

        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            out.emit(what=f"row {row.time:%S}")
            timers.tock.set(at=float(row["value"]), tag=str(row["value"]))

        def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
            out.emit(what=f"timer {timer.tag}")

    run = processed(Both, engine, order="event_time")
    made = run.step([("a", 1, 5.0), ("a", 2, 7.0)], watermark=9 * SECOND, now=3 * SECOND)
    assert made == ["row 05", "row 07", "timer 1", "timer 2"]
