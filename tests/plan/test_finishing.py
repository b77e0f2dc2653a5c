"""When triggers may fire and finish, for each node of the algebra."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.triggers import Trigger
from millstream.plan.finishing import Moment, finishes, fires, may_lose_data

BEFORE, END, NEVER = Moment.BEFORE_END, Moment.AT_END, Moment.NEVER
COUNT, WATERMARK = ms.after_count(1), ms.at_watermark()


@pytest.mark.parametrize(
    ("trigger", "fire", "finish"),
    [
        (ms.after_count(1), BEFORE, BEFORE),
        (ms.after_delay(1), BEFORE, BEFORE),
        (ms.every(1), BEFORE, BEFORE),
        (ms.never(), NEVER, NEVER),
        (ms.at_watermark(), END, END),
        (ms.at_watermark(early=COUNT), BEFORE, END),
        (ms.at_watermark(early=ms.never()), END, END),
        (ms.at_watermark(early=WATERMARK), END, END),
        (ms.at_watermark(late=COUNT), END, NEVER),
        (ms.at_watermark(early=COUNT, late=COUNT), BEFORE, NEVER),
        (ms.repeatedly(COUNT), BEFORE, NEVER),
        (ms.repeatedly(WATERMARK), END, NEVER),
        (ms.repeatedly(ms.never()), NEVER, NEVER),
        (ms.first_of(WATERMARK, COUNT), BEFORE, BEFORE),
        (ms.first_of(WATERMARK, ms.never()), END, END),
        # Whatever its parts do afterwards, first_of and all_of finish by firing.
        (ms.first_of(ms.repeatedly(COUNT)), BEFORE, BEFORE),
        (ms.all_of(ms.repeatedly(COUNT)), BEFORE, BEFORE),
        (ms.all_of(WATERMARK, COUNT), END, END),
        (ms.all_of(WATERMARK, ms.never()), NEVER, NEVER),
        (ms.in_order(COUNT, WATERMARK), BEFORE, END),
        (ms.in_order(WATERMARK, COUNT), END, END),
        (ms.in_order(COUNT, ms.repeatedly(COUNT)), BEFORE, NEVER),
        (ms.in_order(COUNT, COUNT), BEFORE, BEFORE),
        (ms.repeatedly(COUNT).or_finally(WATERMARK), BEFORE, END),
        (ms.repeatedly(WATERMARK).or_finally(COUNT), BEFORE, BEFORE),
        (ms.repeatedly(WATERMARK).or_finally(ms.never()), END, NEVER),
        (COUNT.or_finally(WATERMARK), BEFORE, BEFORE),
    ],
)
def test_the_earliest_firing_and_finishing(trigger: Trigger, fire: Moment, finish: Moment) -> None:
    assert (fires(trigger), finishes(trigger)) == (fire, finish)


@pytest.mark.parametrize(
    ("trigger", "lateness", "loses"),
    [
        (COUNT, 0, BEFORE),
        (COUNT, 1, BEFORE),
        (WATERMARK, 0, None),
        (WATERMARK, 1, END),
        (ms.repeatedly(COUNT), 1, None),
    ],
)
def test_data_is_lost_when_a_trigger_finishes_before_the_data(
    trigger: Trigger, lateness: int, loses: Moment | None
) -> None:
    assert may_lose_data(trigger, lateness) == loses


def test_a_trigger_without_a_rule_is_no_silent_never() -> None:
    for question in (fires, finishes):
        with pytest.raises(TypeError, match="unknown trigger"):
            question(Trigger())
