"""What a checkpoint keeps of a program, to compare it with the program that resumes it."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.physical.plan import physical
from millstream.physical.resume import (
    OF,
    can_resume,
    check_distinguishable,
    lost_parts,
    stateful_plan,
)


def test_the_plan_records_which_aggregates_keep_a_sketch():
    rows = ms.from_rows([], "user string, ms int")
    counted = rows.key_by("user").aggregate(
        n=ms.count_distinct("ms"), about=ms.approx_distinct("user"), half=ms.approx_quantile("ms")
    )
    lines = stateful_plan(physical(counted.collect().sinks))
    assert "    types  user STRING, n INT, about STRING sketch, half INT sketch" in lines


class Balances(ms.Processor):
    silent = ms.timer("processing_time")

    class state:  # noqa: N801
        balance: int = 0

    def on_row(self, row, state, timers, out):
        pass

    def on_timer(self, timer, state, timers, out):
        pass


class Named(Balances):
    late = ms.timer("event_time")

    class state:  # noqa: N801
        owner: str = "nobody"
        balance: int = 0


class Retyped(Balances):
    class state:  # noqa: N801
        balance: float = 0.0


class Renamed(Balances):
    class state:  # noqa: N801
        amount: int = 0


class Rescheduled(Balances):
    silent = ms.timer("event_time")


def lines(processor, key="account", window=None, order="arrival", **ttl):
    if ttl:
        processor = type("Lives", (processor,), ttl)
    rows = ms.read_files(
        "/in",
        schema="account string, n int, at timestamp",
        event_time="at",
        watermark=ms.bounded("1m"),
    )
    keyed = rows.key_by(key)
    keyed = keyed if window is None else keyed.window(window)
    made = keyed.process(processor, schema="account string", order=order)
    return stateful_plan(physical(made.named("balances").collect().sinks))


def test_a_processor_may_have_more_fields_and_timers_and_other_code_when_it_is_resumed():
    assert can_resume(lines(Balances), lines(Named))
    assert can_resume(lines(Balances), lines(Balances))
    assert not can_resume(lines(Named), lines(Balances))


@pytest.mark.parametrize(
    ("processor", "says"),
    [
        (Retyped, "the field 'balance' of process 'balances' was BIGINT, and is DOUBLE"),
        (Renamed, "process 'balances' has no field 'balance' now"),
        (Rescheduled, "the timer 'silent' of process 'balances' was by the clock, and is by event"),
    ],
)
def test_fields_and_timers_that_the_state_has_must_stay(processor, says):
    before, now = lines(Balances), lines(processor)
    assert not can_resume(before, now)
    (lost,) = lost_parts(before, now)
    assert lost.startswith(says)


@pytest.mark.parametrize(
    "change",
    [{"key": "n"}, {"window": ms.fixed(5)}, {"order": "event_time"}, {"ttl": ms.ttl("1h")}],
)
def test_whose_state_it_is_and_how_long_it_stays_must_stay(change):
    assert not can_resume(lines(Balances), lines(Balances, **change))


def test_processors_without_names_are_distinguished_by_what_they_run():
    rows = ms.from_rows([("a",)], "account string").key_by("account")
    one, other = (rows.process(each, schema="account string") for each in (Balances, Other))
    plan = physical(ms.pipeline(one.collect("one"), other.collect("other")).sinks)
    check_distinguishable(plan)
    assert any(line.startswith(f"{OF}runs Other, ") for line in stateful_plan(plan))


class Other(Balances):
    pass
