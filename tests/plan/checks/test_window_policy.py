"""MS122: windows that the watermark does not end take nothing that belongs to it."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.testing import replay, test_stream

ROWS = ms.from_rows([], schema="k string, n int, at timestamp", event_time="at")
UNTIMED = test_stream("k string, n int")
COUNTED = ROWS.key_by("k").window(ms.count_window(3))
BY_WATERMARK = [
    ms.at_watermark(),
    ms.at_watermark(early=ms.after_count(1), late=ms.after_count(1)),
    ms.repeatedly(ms.first_of(ms.after_count(5), ms.at_watermark())),
    ms.repeatedly(ms.after_count(5)).or_finally(ms.at_watermark()),
]


def test_allowed_lateness_is_refused() -> None:
    late = ROWS.key_by("k").window(ms.count_window(3), allowed_lateness="1m")
    with pytest.raises(ms.PlanError) as caught:
        late.aggregate(n=ms.count())
    assert (caught.value.code, caught.value.step) == ("MS122", "aggregate-1")
    assert caught.value.what == (
        "windows of ms.count_window(3) end by their rows, so no row is late for them, and "
        "allowed_lateness has no meaning"
    )


def test_windows_of_the_clock_take_no_lateness_and_no_watermark_either() -> None:
    clock = ms.processing_time(ms.fixed("1m"))
    with pytest.raises(ms.PlanError, match="MS122.*end by the clock, so no row is late"):
        UNTIMED.window(clock, allowed_lateness="1m").aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match="MS122.*end by the clock, but"):
        UNTIMED.window(clock).trigger(ms.at_watermark()).aggregate(n=ms.count())
    UNTIMED.window(clock).aggregate(n=ms.count())


@pytest.mark.parametrize("window", [ms.global_window(), ms.count_window(3), "1m", None])
def test_only_windows_with_a_length_of_time_can_be_by_the_clock(window: object) -> None:
    with pytest.raises(ms.PlanError, match="MS123"):
        ms.processing_time(window)  # type: ignore[arg-type]


@pytest.mark.parametrize("trigger", BY_WATERMARK)
def test_a_trigger_that_waits_for_the_watermark_is_refused(trigger: object) -> None:
    with pytest.raises(ms.PlanError, match="MS122.*waits for the watermark"):
        COUNTED.trigger(trigger).aggregate(n=ms.count())  # type: ignore[arg-type]
    with pytest.raises(ms.PlanError, match="MS122.*waits for the watermark"):
        replay(window=ms.count_window(3), trigger=trigger, steps=[])  # type: ignore[arg-type]


def test_other_triggers_pass() -> None:
    COUNTED.trigger(ms.repeatedly(ms.after_count(1))).aggregate(n=ms.count())
    COUNTED.trigger(ms.repeatedly(ms.every("1m"))).aggregate(n=ms.count())


def test_a_trigger_that_may_finish_before_the_window_ends_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="MS104"):
        COUNTED.trigger(ms.after_count(1)).aggregate(n=ms.count())


@pytest.mark.parametrize("window", [ms.count_window(3), ms.processing_time(ms.fixed("1m"))])
def test_rows_that_may_be_retracted_are_refused(window: object) -> None:
    sums = ROWS.key_by("k").window(ms.fixed("1m")).refine(ms.retracting).aggregate(n=ms.sum("n"))
    with pytest.raises(ms.PlanError, match="MS110.*takes results back, which ms.* cannot undo"):
        sums.window(window).aggregate(n=ms.count())  # type: ignore[arg-type]


def test_an_endless_stream_needs_no_event_time_watermark_or_trigger() -> None:
    counted = UNTIMED.window(ms.count_window(100)).aggregate(n=ms.count())
    assert str(counted.node.schema.resolve("window")) == (
        "window STRUCT<start: TIMESTAMP, end: TIMESTAMP, index: BIGINT>"
    )


def test_results_of_a_count_window_have_the_event_times_of_rows() -> None:
    counted = UNTIMED.window(ms.count_window(100)).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match="MS115"):
        counted.window(ms.fixed("1m")).aggregate(n=ms.count())


def test_a_table_is_kept_by_window_unless_early_results_grow() -> None:
    counted = COUNTED.aggregate(n=ms.count()).collect("all", mode="complete")
    assert counted.outputs
    early = COUNTED.trigger(ms.repeatedly(ms.after_count(1))).refine(ms.accumulating)
    with pytest.raises(ms.PlanError, match="MS113.*grow"):
        early.aggregate(n=ms.count()).collect("all", mode="complete")


@pytest.mark.parametrize("n", [0, -1, 1.5, True, "3"])
def test_the_number_of_rows_is_a_whole_number_above_zero(n: object) -> None:
    with pytest.raises(ms.PlanError, match="MS113"):
        ms.count_window(n)  # type: ignore[arg-type]
    with pytest.raises(ms.PlanError, match="MS113"):
        ms.count_window(3, slide=n)  # type: ignore[arg-type]


def test_a_flush_is_the_end_or_a_length_of_time() -> None:
    assert repr(ms.count_window(3, slide=2, flush="90s")) == (
        "count_window(3, slide=2, flush='1m30s')"
    )
    with pytest.raises(ms.PlanError, match="MS101.*flush"):
        ms.count_window(3, flush="never")
