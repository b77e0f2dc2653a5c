"""How far time has come for an operator: what its inputs have reported, and which are silent."""

from __future__ import annotations

import msgspec
import polars as pl
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.watermarks import POLL, Channels, Watermarks, newest
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Silence
from millstream.reference.watermarks import InputWatermark, Report

LATEST = END_OF_TIME


def silences(idles):
    return {origin: Silence(idle) for origin, idle in idles.items()}


def again(channels):
    """What is written to the state and read back."""
    return msgspec.json.decode(msgspec.json.encode(channels), type=Channels)


def reported(given, idles=None, now=0):
    """Channels as ``{"origin/split": watermark}``."""
    idles = {name.split("/")[0]: None for name in given} if idles is None else idles
    watermarks = Watermarks(silences(idles))
    for name, watermark in given.items():
        watermarks.report(*name.split("/"), watermark, now)
    return watermarks


def test_the_watermark_is_the_least_of_all_splits():
    assert reported({"a/0": 30, "a/1": 10, "b/0": 20}).advance(0) == 10


def test_an_origin_that_never_reported_holds_it_at_the_start_of_time():
    watermarks = reported({"a/0": 30}, idles={"a": None, "b": None})
    assert watermarks.advance(0) == START_OF_TIME
    watermarks.report("b", "0", 25, 1)
    assert watermarks.advance(1) == 25


def test_an_origin_that_never_reported_is_idle_when_it_has_been_silent_from_the_beginning():
    watermarks = reported({"a/0": 30}, idles={"a": None, "b": 10}, now=100)
    assert watermarks.advance(100) == START_OF_TIME
    assert watermarks.next_move(100) == 110
    assert watermarks.advance(109) == START_OF_TIME
    assert watermarks.advance(110) == 30


def test_a_split_never_takes_back_what_it_has_told():
    watermarks = reported({"a/0": 30})
    watermarks.report("a", "0", 20, 1)
    assert watermarks.advance(1) == 30


def test_a_silent_split_steps_aside_when_it_is_idle_and_not_before():
    watermarks = reported({"a/0": 10, "a/1": 50}, idles={"a": 60}, now=0)
    watermarks.report("a", "1", 55, 59)
    assert watermarks.advance(59) == 10
    assert watermarks.next_move(59) == 60
    assert watermarks.advance(60) == 55
    assert watermarks.next_move(60) == 119


def test_a_split_that_wakes_up_behind_the_others_does_not_take_time_back_and_holds_none_up():
    watermarks = reported({"a/0": 10, "a/1": 55}, idles={"a": 60}, now=0)
    watermarks.report("a", "1", 55, 30)
    assert watermarks.advance(60) == 55
    watermarks.report("a", "0", 20, 61)
    watermarks.report("a", "1", 70, 61)
    assert watermarks.advance(61) == 70, "what is behind anyway is not waited for"
    watermarks.report("a", "0", 80, 62)
    watermarks.report("a", "1", 90, 62)
    assert watermarks.advance(62) == 80, "it has caught up, and counts again"


def test_a_new_split_that_is_behind_is_waited_for_once_it_has_caught_up():
    watermarks = reported({"a/0": 50})
    assert watermarks.advance(0) == 50
    watermarks.report("a", "1", 10, 1)
    watermarks.report("a", "0", 60, 1)
    assert watermarks.advance(1) == 60
    watermarks.report("a", "1", 65, 2)
    watermarks.report("a", "0", 90, 2)
    assert watermarks.advance(2) == 65


def test_when_all_are_idle_what_the_foremost_has_told_counts():
    watermarks = reported({"a/0": 10, "a/1": 50}, idles={"a": 5}, now=0)
    assert watermarks.advance(4) == 10
    assert watermarks.advance(5) == 50
    assert watermarks.next_move(5) is None


def test_when_all_are_idle_the_watermark_follows_the_clock_if_it_is_to():
    watermarks = Watermarks({"a": Silence(idle=60, behind=10)})
    watermarks.report("a", "0", 20, 100)
    watermarks.report("a", "1", 50, 110)
    assert watermarks.advance(169) == 50, "one split is awake"
    assert watermarks.advance(170) == 160
    assert watermarks.next_move(170) == 170 + POLL
    assert watermarks.advance(500) == 490
    watermarks.report("a", "0", 480, 501)
    assert watermarks.advance(501) == 490, "it is awake again, and behind"
    watermarks.report("a", "0", 495, 502)
    assert watermarks.advance(502) == 495


def test_the_clock_counts_only_when_the_other_sources_are_idle_too_and_the_most_patient_decides():
    silences = {"a": Silence(5, 1), "b": Silence(50, 20), "c": Silence(5)}
    watermarks = Watermarks(silences)
    for origin in silences:
        watermarks.report(origin, "", 10, 100)
    assert watermarks.advance(149) == 10, "b is awake"
    assert watermarks.advance(150) == 130


def test_the_clock_does_not_move_a_watermark_that_an_input_without_idle_holds():
    watermarks = Watermarks({"a": Silence(5, 0), "b": Silence()})
    watermarks.report("a", "", 10, 0)
    assert watermarks.advance(100) == START_OF_TIME
    watermarks.report("b", "", LATEST, 100)
    assert watermarks.advance(100) == 100, "what has ended holds nothing"


def test_times_that_are_too_far_ahead_are_not_the_newest():
    assert newest(pl.Series([3, None, 9, 5]), 6) == (5, 1)
    assert newest(pl.Series([3, None, 9, 5]), 9) == (9, 0)
    assert newest(pl.Series([7, 9]), 6) == (None, 2)
    assert newest(pl.Series([None], dtype=pl.Int64), 6) == (None, 0)


def test_time_ends_when_all_inputs_have_ended():
    watermarks = reported({"a/0": LATEST, "b/0": 7})
    assert watermarks.advance(0) == 7
    watermarks.report("b", "0", LATEST, 1)
    assert watermarks.advance(1) == LATEST


def test_an_input_that_has_ended_does_not_end_those_that_are_only_idle():
    """Rows that were given united with a stream that pauses: its next row must not be late."""
    watermarks = reported({"rows/": LATEST, "stream/0": 20}, idles={"rows": None, "stream": 5})
    assert watermarks.advance(0) == 20
    assert watermarks.advance(1000) == 20
    watermarks.report("stream", "0", 30, 1001)
    assert watermarks.advance(1001) == 30
    assert watermarks.next_move(1001) == 1006


def test_an_input_that_has_ended_does_not_end_one_that_has_not_begun():
    watermarks = reported({"rows/": LATEST}, idles={"rows": None, "stream": 5})
    assert watermarks.advance(0) == watermarks.advance(1000) == START_OF_TIME


def test_a_grouping_without_origins_stays_at_the_start_of_time():
    watermarks = Watermarks({})
    assert watermarks.advance(5) == START_OF_TIME
    assert watermarks.next_move(5) is None


def test_what_is_put_back_is_no_farther_than_it_may_be_unless_it_has_ended():
    watermarks = reported({"a/0": 10, "a/1": 900, "b/": LATEST})
    watermarks.advance(0)
    watermarks.report("a", "0", 800, 0)
    watermarks.advance(0)
    watermarks.put_back(50)
    assert watermarks.channels.watermark == 50
    watermarks.report("a", "0", 60, 1)
    watermarks.report("a", "1", 70, 1)
    assert watermarks.advance(1) == 60


def test_what_is_kept_is_found_again_and_what_an_origin_of_another_program_told_is_not():
    watermarks = reported({"a/0": 10, "a/é": 50, "b/": LATEST}, idles={"a": 60, "b": None}, now=3)
    watermarks.advance(3)
    kept = again(watermarks.channels)
    assert kept == watermarks.channels
    assert set(Watermarks(silences({"a": 60}), kept).channels.splits) == {"a"}


TELLING = st.tuples(
    st.sampled_from([("a", "0"), ("a", "1"), ("b", "")]),
    st.integers(0, 40) | st.just(LATEST),
    st.integers(0, 20),
)


@given(st.sampled_from([None, 5]), st.lists(TELLING, max_size=12), st.booleans())
def test_time_never_goes_back_and_never_passes_those_that_are_awake(idle, script, kept):
    watermarks, now, before = Watermarks(silences({"a": idle, "b": idle})), 0, START_OF_TIME
    for (origin, split), watermark, pause in script:
        now += pause
        watermarks.report(origin, split, watermark, now)
        reached = watermarks.advance(now)
        assert reached >= before
        everyone = [c for splits in watermarks.channels.splits.values() for c in splits.values()]
        awake = [c for c in everyone if idle is None or now - c.reported < idle]
        # Whoever is behind already cannot be passed any more.
        assert all(reached <= c.watermark for c in awake if c.watermark >= before)
        before = reached
        if kept:
            watermarks = Watermarks(watermarks.origins, again(watermarks.channels))


SILENCES = st.builds(
    lambda idle, behind: Silence(idle, None if idle is None else behind),
    st.sampled_from([None, 5, 12]),
    st.sampled_from([None, 0, 7]),
)
BATCH = st.tuples(st.integers(0, 15), st.lists(TELLING, max_size=3))


@given(st.fixed_dictionaries({"a": SILENCES, "b": SILENCES}), st.lists(BATCH, max_size=12))
def test_the_watermark_is_that_of_the_reference(silences, script):
    watermarks, plain, now = Watermarks(silences), InputWatermark(silences), 0
    for pause, tellings in script:
        now += pause
        reports = [Report(origin, split, w, now) for (origin, split), w, _ in tellings]
        for each in reports:
            watermarks.report(each.origin, each.split, each.watermark, now)
        assert watermarks.advance(now) == plain.advance(reports, now)
        watermarks = Watermarks(silences, again(watermarks.channels))


@given(st.permutations([("a", "0", 3), ("a", "1", 1), ("b", "", 2), ("a", "0", 2), ("b", "", 9)]))
def test_the_order_in_which_channels_tell_within_a_batch_does_not_matter(script):
    watermarks = Watermarks(silences({"a": 5, "b": None}))
    for origin, split, watermark in script:
        watermarks.report(origin, split, watermark, 7)
    assert watermarks.advance(7) == 1
