"""MS119: windows of an endless stream end by the watermark, so a policy must move it on."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.triggers import Trigger
from millstream.sources import test_stream
from millstream.stream import Stream

SCHEMA = "k string, at timestamp"
UNTIMED = ms.read_files("/data/clicks", schema=SCHEMA, name="clicks")
UNFOLLOWED = UNTIMED.with_event_time("at")
FOLLOWED = UNTIMED.with_event_time("at", ms.bounded("30s"))
WAITING = [
    ms.at_watermark(), ms.at_watermark(early=ms.every("1m")), ms.never(),
    ms.repeatedly(ms.after_count(5)).or_finally(ms.at_watermark()),
    ms.repeatedly(ms.first_of(ms.after_delay("1m"), ms.at_watermark())),
]  # fmt: skip


def refused(stream: Stream) -> ms.PlanError:
    with pytest.raises(ms.PlanError) as caught:
        stream.aggregate(n=ms.count())
    assert caught.value.code == "MS119"
    return caught.value


def minutes(stream: Stream) -> Stream:
    return stream.window(ms.fixed("1m"))


def test_the_default_trigger_without_a_policy_is_refused() -> None:
    assert str(refused(minutes(ms.read_files("/data", schema=SCHEMA, event_time="at")))) == (
        "MS119 in step 'aggregate-1': the default trigger waits for the watermark, but no policy "
        "sets how that follows the endless rows of 'files-1': no window would ever end\n"
        "  What to do: say how far events may be out of order: event_time='at', "
        "watermark=ms.bounded('30s')\n"
        "  More: millstream help MS119"
    )


def test_the_fix_follows_the_way_in_which_the_program_sets_the_event_time() -> None:
    error = refused(minutes(UNTIMED.filter("k > 'a'").with_event_time("at")))
    assert error.fix.endswith(": .with_event_time('at', ms.bounded('30s'))")


@pytest.mark.parametrize("trigger", WAITING)
def test_a_trigger_that_waits_for_the_watermark_needs_a_policy(trigger: Trigger) -> None:
    refused(minutes(UNFOLLOWED).trigger(trigger, allow_data_loss=True))
    minutes(FOLLOWED).trigger(trigger, allow_data_loss=True).aggregate(n=ms.count())


@pytest.mark.parametrize("trigger", [ms.after_count(5), ms.after_delay("1m"), ms.every("1m")])
def test_a_trigger_by_count_or_clock_needs_none(trigger: Trigger) -> None:
    minutes(UNFOLLOWED).trigger(ms.repeatedly(trigger)).aggregate(n=ms.count())


def test_the_global_window_is_a_matter_of_its_own() -> None:
    UNFOLLOWED.trigger(ms.at_watermark(early=ms.every("1m"))).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match="MS105"):
        UNFOLLOWED.window(ms.global_window()).aggregate(n=ms.count())


def test_sources_that_end_and_sources_that_a_test_drives_need_no_policy() -> None:
    for source in (
        ms.from_rows([], schema=SCHEMA, event_time="at"),
        ms.read_files("/data", schema=SCHEMA, event_time="at", bounded=True),
        test_stream(SCHEMA, event_time="at"),
    ):
        minutes(source).aggregate(n=ms.count())


def test_a_rate_brings_its_policy_along() -> None:
    minutes(ms.read_rate()).aggregate(n=ms.count())


def test_every_endless_part_of_a_union_needs_one() -> None:
    refused(minutes(FOLLOWED.union(UNFOLLOWED)))
    ended = ms.from_rows([], schema=SCHEMA, event_time="at")
    minutes(FOLLOWED.union(ended)).aggregate(n=ms.count())


def test_a_policy_on_one_way_does_not_serve_another() -> None:
    others = FOLLOWED.filter("k > 'a'").union(UNFOLLOWED.filter("k < 'a'"))
    assert "'at'" in refused(minutes(others)).fix


def test_the_watermark_of_a_policy_passes_on_through_a_new_event_time() -> None:
    minutes(FOLLOWED.with_event_time("at")).aggregate(n=ms.count())


def test_a_grouping_in_between_moves_no_watermark_of_its_own() -> None:
    counted = minutes(UNFOLLOWED).trigger(ms.repeatedly(ms.after_count(5)))
    totals = counted.aggregate(n=ms.count())
    assert refused(minutes(totals)).step == "aggregate-2"


def test_a_split_without_a_policy_is_refused_with_its_event_time() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ms.read_files("/data", schema=SCHEMA, split="K", event_time="at", name="clicks")
    assert (caught.value.code, caught.value.step) == ("MS119", "event_time-1")
    assert caught.value.what == (
        "'clicks' is split by 'k', so that each split has a watermark of its own, but no policy "
        "sets which"
    )
    assert caught.value.fix.endswith("event_time='at', watermark=ms.bounded('30s')")


def test_the_event_time_of_a_split_may_be_computed_first() -> None:
    texts = ms.read_files("/data", format="json", schema="k string, at string", split="k")
    times = texts.with_columns(at="to_timestamp(at)")
    minutes(times.with_event_time("at", ms.ascending())).aggregate(n=ms.count())
    with pytest.raises(ms.PlanError, match=r"MS119.*\n.*\.with_event_time\('at', ms.bounded"):
        times.with_event_time("at")
