"""MS130: callbacks of a processor that would fail, or never run, as they are written."""

from __future__ import annotations

import re
from typing import Any

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.checks.callbacks import check_callbacks


class Plain(ms.Processor):
    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def yields(self: Any, row: Any, state: Any, timers: Any, out: Any) -> Any:
    yield row


async def awaits(self: Any, row: Any, state: Any, timers: Any, out: Any) -> None:
    pass


def short(self: Any, row: Any) -> None:
    pass


def expiry_with_timers(self: Any, expiry: Any, state: Any, timers: Any, out: Any) -> None:
    pass


TICK = ms.timer("event_time")


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ({"on_row": yields}, "has yield in on_row, whose rows would be lost"),
        ({"on_timer": awaits}, "has an async on_timer"),
        ({"on_timer": short}, "has on_timer(row: 'Any') -> 'None': too many positional arguments"),
        ({"on_expiry": expiry_with_timers}, "missing a required argument: 'out'"),
        ({"on_expire": short}, "has on_expire, which nothing calls"),
        ({"tick": TICK}, "has the timer 'tick', and no on_timer"),
        ({"now": TICK, "on_timer": Plain.on_row}, "has a timer with the name 'now'"),
    ],
)
def test_a_callback_that_cannot_run_is_refused_when_the_program_is_built(
    given: dict[str, Any], why: str
) -> None:
    processor: Any = type("Odd", (Plain,), given)
    with pytest.raises(PlanError, match=f"MS130: Odd {re.escape(why)}|MS130: Odd .*{why}"):
        check_callbacks(processor())


def test_a_processor_says_what_happens_for_a_row() -> None:
    with pytest.raises(PlanError, match="MS130: Processor does not say what happens for a row"):
        check_callbacks(ms.Processor())


def test_helpers_with_names_of_their_own_and_arguments_with_defaults_are_fine() -> None:
    class Helped(Plain):
        tick = TICK

        def on_login(self) -> None:
            pass

        def on_timer(self, timer: Any, *others: Any, often: int = 1) -> None:
            pass

    check_callbacks(Helped())


def test_a_declared_timer_says_how_timers_are_set() -> None:
    with pytest.raises(AttributeError, match=r"timers\.silent\.set\(after='5m'\)"):
        TICK.set(after="5m")
