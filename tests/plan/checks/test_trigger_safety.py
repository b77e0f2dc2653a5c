"""MS104: a trigger that may finish and lose data is refused."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.stream import Stream
from millstream.testing import replay

ROWS = ms.from_rows([], schema="k string, at timestamp", event_time="at").window(ms.fixed("1m"))


def refusal(trigger: object, rows: Stream = ROWS) -> ms.PlanError:
    with pytest.raises(ms.PlanError) as caught:
        rows.trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]
    assert caught.value.code == "MS104"
    return caught.value


@pytest.mark.parametrize(
    "trigger",
    [
        ms.after_count(5),
        ms.after_delay("1m"),
        ms.every("1m"),
        ms.first_of(ms.after_count(1), ms.at_watermark()),
        ms.all_of(ms.after_count(1), ms.after_delay("1m")),
        ms.in_order(ms.after_count(1), ms.after_count(2)),
        ms.repeatedly(ms.after_count(1)).or_finally(ms.after_delay("1h")),
    ],
)
def test_a_trigger_that_may_finish_before_the_end_is_refused(trigger: object) -> None:
    assert "may finish before its window ends" in refusal(trigger).what


@pytest.mark.parametrize(
    "trigger",
    [
        ms.never(),
        ms.at_watermark(),
        ms.at_watermark(early=ms.after_count(1)),
        ms.repeatedly(ms.after_count(5)),
        ms.all_of(ms.after_count(1), ms.at_watermark()),
        ms.in_order(ms.after_count(1), ms.at_watermark()),
        ms.in_order(ms.after_count(1), ms.repeatedly(ms.after_count(2))),
        ms.repeatedly(ms.after_count(1)).or_finally(ms.at_watermark()),
    ],
)
def test_without_lateness_finishing_at_the_end_loses_nothing(trigger: ms.Stream) -> None:
    ROWS.trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]


LATE = ROWS.window(ms.fixed("1m"), allowed_lateness="1h")


def test_with_lateness_a_trigger_that_finishes_at_the_end_is_refused() -> None:
    error = refusal(ms.at_watermark(early=ms.after_count(7)), LATE)
    assert str(error) == (
        "MS104 in step 'aggregate-1': ms.at_watermark(early=ms.after_count(7)) finishes at the "
        "window's end, 1h before late data stops: what comes after that would go to .late, "
        "uncounted\n"
        "  What to do: write .trigger(ms.at_watermark(early=ms.after_count(7), "
        "late=ms.after_count(1))), or, if losing data is meant, "
        ".trigger(ms.at_watermark(early=ms.after_count(7)), allow_data_loss=True)\n"
        "  More: millstream help MS104"
    )


@pytest.mark.parametrize(
    "trigger",
    [
        ms.never(),
        ms.repeatedly(ms.at_watermark()),
        ms.at_watermark(late=ms.after_count(1)),
        ms.repeatedly(ms.after_count(5)),
    ],
)
def test_with_lateness_triggers_that_never_finish_pass(trigger: object) -> None:
    LATE.trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]


def test_the_default_trigger_is_safe_with_lateness() -> None:
    LATE.aggregate(n=ms.count())


def test_the_suggestion_repeats_the_users_own_trigger() -> None:
    assert refusal(ms.after_count(42)).fix.startswith(
        "write .trigger(ms.repeatedly(ms.after_count(42))), or"
    )


@pytest.mark.parametrize("trigger", [ms.after_count(42), ms.every("90s", offset="5s")])
def test_the_suggestion_can_be_pasted_and_works(trigger: object) -> None:
    fix = refusal(trigger).fix
    suggested = fix.removeprefix("write .trigger(").split("), or, if")[0]
    ROWS.trigger(eval(suggested)).aggregate(n=ms.count())


def test_a_replay_has_arguments_where_a_program_has_a_method() -> None:
    with pytest.raises(ms.PlanError) as caught:
        replay(window=ms.fixed(10), trigger=ms.after_count(2), steps=[])
    assert (caught.value.code, caught.value.step) == ("MS104", None)
    assert caught.value.fix == (
        "write trigger=ms.repeatedly(ms.after_count(2)), or, if losing data is meant, "
        "add allow_data_loss=True"
    )


def test_losing_data_can_be_meant() -> None:
    ROWS.trigger(ms.after_count(5), allow_data_loss=True).aggregate(n=ms.count())
    LATE.trigger(ms.at_watermark(), allow_data_loss=True).aggregate(n=ms.count())


def test_nothing_is_late_for_the_global_window() -> None:
    rows = ROWS.window(ms.global_window(), allowed_lateness="1h")
    rows.trigger(ms.at_watermark()).aggregate(n=ms.count())
    refusal(ms.after_count(5), rows)
