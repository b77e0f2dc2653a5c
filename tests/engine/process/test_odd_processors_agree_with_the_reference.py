"""Processors with unusual state, keys and timers: nothing is lost, and both engines agree."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.testing import replay
from odd_processors import (
    ODD,
    STEPS,
    EveryType,
    FailsLater,
    FarTimers,
    Odd,
    Routes,
    SetsItself,
    Undeclared,
)


@pytest.mark.parametrize("odd", ODD, ids=lambda each: each.processor.__name__)
def test_both_engines_agree(odd: Odd) -> None:
    stream = odd.stream()
    expected = odd.seen(replay(stream, steps=STEPS))
    assert odd.seen(replay(stream, steps=STEPS, engine="columnar")) == expected


def of(processor: type, key: str | None) -> tuple[list[Any], list[Any]]:
    """What is emitted for a key, and the reasons of what is rejected of it."""
    (odd,) = (each for each in ODD if each.processor is processor)
    made = replay(odd.stream(), steps=STEPS, engine="columnar")
    reasons = [each["reason"] for each in made.rejected if f"{{'key': {key!r}}}" in each["reason"]]
    rows = [(row.step, row.values["what"]) for row in made if row.values["key"] == key]
    return rows, sorted(reasons)


def test_fields_of_a_base_and_of_the_class_itself_are_kept() -> None:
    last = of(Routes, None)[0][-1][1]
    assert "Place(x=9, y=0.0), steps=5" in last  # 1 + 2 + 3 + 1 + 2, in five rows


def test_a_timestamp_without_a_zone_is_loaded_in_utc() -> None:
    last = of(EveryType, None)[0][-1][1]
    assert "'local': datetime.datetime(2024, 5, 1, 0, 0, tzinfo=datetime.timezone.utc)" in last


def test_timers_before_1970_and_up_to_the_year_9999_fire_at_their_times() -> None:
    rows, _ = of(FarTimers, "ü☃😀")
    fired = [(step, what.split()[:3][-1][:10]) for step, what in rows if what.startswith("then")]
    assert fired == [(2, "0001-01-01"), (4, "0001-01-01"), (4, "1970-01-01"), (6, "9999-12-31")]


def test_a_timer_that_sets_itself_fires_as_often_as_it_is_set() -> None:
    expected = [(2, each) for each in "12345"] + [(5, each) for each in "678"] + [(6, "end 8")]
    assert of(SetsItself, "")[0] == expected


def test_a_timer_or_expiry_that_fails_changes_nothing_and_is_rejected() -> None:
    rows, reasons = of(FailsLater, "a")
    assert [what for _, what in rows] == ["1", "2", "3", "4", "5", "6"]
    assert reasons == [
        "on_expiry of key {'key': 'a'}: SystemExit: expired with 6",
        "on_timer of key {'key': 'a'}: ValueError: no timer for a",
    ]


def test_what_is_not_declared_is_refused_and_not_lost() -> None:
    rows, reasons = of(Undeclared, "a")
    assert [what for _, what in rows] == ["1", "2", "3", "4"]
    assert len(reasons) == 2
    assert all("has 'm', which is not declared" in each for each in reasons)
