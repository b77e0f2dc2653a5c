"""interval_join() in the plan: what it takes, what it refuses, and what it shows."""

from __future__ import annotations

from dataclasses import astuple

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.physical.plan import physical
from millstream.physical.resume import stateful_plan
from millstream.plan.operators.interval_join import IntervalJoin
from millstream.testing import test_stream

VIEWS = test_stream("ad string, seen double", event_time="seen", name="views")
CLICKS = test_stream("ad string, at double", event_time="at", name="clicks")
MINUTE = 60_000_000


def joined(
    how: str = "inner", between=("0s", "1m"), views=VIEWS, clicks=CLICKS, **more
) -> ms.Stream:
    return views.interval_join(clicks, on="ad", between=between, how=how, **more)


def node_of(stream: ms.Stream) -> IntervalJoin:
    assert isinstance(stream.node, IntervalJoin)
    return stream.node


@pytest.mark.parametrize("how", ["inner", "left", "right", "full"])
def test_pairs_have_the_columns_of_both_sides_and_what_they_share_once(how):
    assert joined(how).schema.names == ("ad", "seen", "at")


@pytest.mark.parametrize("how", ["semi", "anti"])
def test_rows_of_one_side_have_its_columns(how):
    assert joined(how).schema.names == ("ad", "seen")


@pytest.mark.parametrize(
    ("how", "retracts"), [("inner", False), ("semi", False), ("left", True), ("anti", True)]
)
def test_only_what_is_decided_early_may_be_taken_back(how, retracts):
    stream = joined(how, views=VIEWS.refine(ms.retracting))
    assert (stream.schema.find("kind") is not None) == retracts
    assert node_of(stream).retracts == retracts


def test_rows_that_are_taken_back_take_back_their_pairs():
    counts = VIEWS.key_by("ad").window(ms.fixed("1m")).trigger(ms.repeatedly(ms.after_count(1)))
    taken_back = counts.refine(ms.retracting).aggregate(n=ms.count())
    stream = joined(views=taken_back)
    assert node_of(stream).retracts
    assert stream.schema.names == ("ad", "n", "window", "pane", "at", "kind")


@pytest.mark.parametrize(
    ("how", "between", "left", "right"),
    [
        # A pair needs the left row up to the last right row, and the right one up to the last left.
        ("inner", ("-10m", "1m"), 1, 10),
        ("inner", ("1m", "2m"), 2, 0),
        ("inner", ("-2m", "-1m"), 0, 2),
        # A left row is decided a minute after its time; its first right row is 10 minutes earlier.
        ("left", ("-10m", "1m"), 1, 11),
        ("semi", ("0s", "1m"), 1, 1),
        ("right", ("-10m", "1m"), 11, 10),
        ("full", ("0s", "1m"), 1, 1),
    ],
)
def test_each_side_is_kept_as_long_as_something_depends_on_it(how, between, left, right):
    one, other = node_of(joined(how, between)).sides
    assert (one.keep, other.keep) == (left * MINUTE, right * MINUTE)


def test_the_right_side_sees_the_interval_from_its_own_rows():
    one, other = node_of(joined("full", ("-10m", "1m"))).sides
    assert astuple(one)[:3] == (-10 * MINUTE, MINUTE, "padded")
    assert astuple(other)[:3] == (-MINUTE, 10 * MINUTE, "padded")


def test_the_plan_shows_which_rows_meet_and_a_checkpoint_keeps_it():
    stream = joined("left", ("-1h30m", 0), views=VIEWS.refine(ms.retracting), where="at > seen")
    assert node_of(stream).details == [
        ("joins", "left"),
        ("on", "ad"),
        ("between", "-1h30m to 0s"),
        ("where", "at > seen"),
        ("how", "retracting"),
    ]
    lines = stateful_plan(physical(stream.collect().sinks))
    assert "    between  -1h30m to 0s" in lines
    assert "    how      retracting" in lines


@pytest.mark.parametrize(
    ("between", "what", "fix"),
    [
        ("1m", "between='1m' is no interval of event time", r"between=\('-10m', '0s'\)"),
        (("1m", "0s"), r"between=\('1m', '0s'\) ends before it begins", r"\('0s', '1m'\)"),
        (("0s", "9999999d"), "longer than there are event times", "at most 10,000 years"),
    ],
)
def test_an_interval_has_two_ends_in_order(between, what, fix):
    with pytest.raises(PlanError, match=f"(?s)MS138 in step 'interval_join-1': .*{what}.*{fix}"):
        joined(between=between)


def test_what_is_no_length_of_time_is_refused():
    with pytest.raises(PlanError, match="MS101 in step 'interval_join-1': between= 'soon'"):
        joined(between=("0s", "soon"))


def test_an_unknown_kind_of_join_is_refused():
    with pytest.raises(PlanError, match="(?s)MS113.*how='outer'.*inner, left, right, full"):
        joined("outer")


@pytest.mark.parametrize(
    "set",
    [
        lambda stream: stream.key_by("ad"),
        lambda stream: stream.window(ms.fixed(10)),
        lambda stream: stream.refine(ms.accumulating),
    ],
)
def test_settings_that_it_has_no_use_for_are_refused(set):
    with pytest.raises(PlanError, match="MS117 in step 'interval_join-1'"):
        joined(views=set(VIEWS))
    with pytest.raises(PlanError, match="MS117"):
        joined(clicks=set(CLICKS))


def test_both_sides_need_event_times():
    with pytest.raises(PlanError, match=r"MS115.*interval_join\(…\) is in event time"):
        joined(clicks=ms.from_rows([], "ad string, at double"))


def test_endless_sides_need_a_watermark():
    endless = ms.read_files("clicks", schema="ad string, at double", event_time="at")
    with pytest.raises(PlanError, match="(?s)MS119.*rows are kept until the watermark.*bounded"):
        joined(clicks=endless)


def test_the_condition_is_sql_of_the_columns_of_a_pair():
    with pytest.raises(PlanError, match="MS102.*'colour'"):
        joined(where="colour = 'red'")
    with pytest.raises(PlanError, match="MS112.*is DOUBLE, not true or false"):
        joined(where="at - seen")


def test_what_is_no_stream_is_refused():
    with pytest.raises(PlanError, match=r"MS113: interval_join\(\) takes streams"):
        VIEWS.interval_join("clicks", on="ad", between=(0, 1))  # type: ignore[type-var]
