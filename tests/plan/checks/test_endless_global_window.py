"""MS105 and MS106: an endless stream needs an end or a trigger that does not wait for one."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.sources import test_stream
from millstream.stream import Stream

ENDLESS = test_stream("k string, at timestamp", event_time="at")
BOUNDED = ms.from_rows([], schema="k string")
WAITING = [ms.repeatedly(ms.at_watermark()), ms.at_watermark(), ms.never()]
WAITING += [ms.all_of(ms.after_count(1), ms.at_watermark())]  # type: ignore[list-item]


def code(stream: Stream) -> str:
    with pytest.raises(ms.PlanError) as caught:
        stream.aggregate(n=ms.count())
    assert caught.value.step == "aggregate-1"
    return caught.value.code


def test_the_default_trigger_over_an_endless_global_window_is_refused() -> None:
    assert code(ENDLESS.window(ms.global_window())) == "MS105"


@pytest.mark.parametrize("trigger", WAITING)
def test_a_trigger_that_waits_for_the_end_is_refused_there(trigger: object) -> None:
    assert code(ENDLESS.window(ms.global_window()).trigger(trigger)) == "MS105"  # type: ignore[arg-type]
    assert code(ENDLESS.trigger(trigger)) == "MS105"  # type: ignore[arg-type]


def test_the_refusal_names_the_trigger_and_a_way_out() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ENDLESS.trigger(ms.never()).aggregate(n=ms.count())
    assert "its global window never ends, and ms.never() never fires" in caught.value.what
    assert ".trigger(ms.repeatedly(ms.after_count(100)))" in caught.value.fix


@pytest.mark.parametrize(
    "trigger",
    [ms.repeatedly(ms.after_count(5)), ms.at_watermark(early=ms.every("1m"))],
)
def test_a_trigger_that_fires_before_the_end_passes(trigger: object) -> None:
    ENDLESS.trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]
    ENDLESS.window(ms.global_window()).trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]


def test_an_endless_stream_with_neither_window_nor_trigger_is_refused() -> None:
    assert code(ENDLESS) == "MS106"
    with pytest.raises(ms.PlanError) as caught:
        ENDLESS.key_by("k").group()
    assert str(caught.value) == (
        "MS106 in step 'aggregate-1': the stream is endless and has neither a window nor a "
        "trigger, so no result is ever due\n"
        "  What to do: say where: .window(ms.fixed('1m')), or when: "
        ".trigger(ms.repeatedly(ms.after_count(100)))\n"
        "  More: millstream help MS106"
    )


def test_a_refinement_alone_is_neither() -> None:
    assert code(ENDLESS.refine(ms.accumulating)) == "MS106"


def test_windows_that_end_need_no_trigger() -> None:
    ENDLESS.window(ms.fixed("1m")).aggregate(n=ms.count())


def test_a_bounded_stream_ends_by_itself() -> None:
    BOUNDED.aggregate(n=ms.count())
    BOUNDED.window(ms.global_window()).trigger(ms.never()).aggregate(n=ms.count())


def test_a_union_is_endless_if_one_part_is() -> None:
    endless = BOUNDED.union(ENDLESS.select("k"))
    assert code(endless) == "MS106"
    BOUNDED.union(BOUNDED.filter("k > 'a'")).aggregate(n=ms.count())


def test_the_result_of_a_windowed_grouping_is_still_endless() -> None:
    totals = ENDLESS.window(ms.fixed("1m")).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match="MS106 in step 'aggregate-2'"):
        totals.aggregate(total=ms.sum("n"))
