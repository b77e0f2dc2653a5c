"""Watermark policies in a replay: rows move the watermark, silence and the clock do."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError, TestingError
from millstream.testing import Elements, ProcessingTime, Watermark, replay, test_stream

DAY = 86_400.0
NOON = 20_000 * DAY


def counts(policy, name="clicks"):
    clicks = test_stream("at double, complete double", "at", policy, name=name)
    return clicks.window(ms.fixed(10)).aggregate(n=ms.count())


def at(*times, complete=None):
    return Elements([{"at": float(time), "complete": complete} for time in times])


def ended(panes):
    return [(pane.window, pane.value, pane.step) for pane in panes]


def run(stream, *steps):
    return replay(stream, steps=steps, policies=True)


def test_the_watermark_follows_the_newest_row_at_the_distance_of_the_disorder():
    panes = run(counts(ms.bounded(5)), at(1, 2), at(14), at(15), at(3))
    assert ended(panes) == [((0.0, 10.0), 2, 2)]
    assert [late.time for late in panes.late] == [3.0]


def test_a_row_from_the_year_9999_does_not_make_what_comes_after_it_late():
    poison = 253_402_300_000.0
    steps = ProcessingTime(NOON), at(NOON), at(poison), at(NOON + 1), at(NOON + 10)
    panes = run(counts(ms.ascending()), *steps)
    assert ended(panes) == [((NOON, NOON + 10), 2, 4)]
    assert panes.late == []
    panes = run(counts(ms.ascending(ahead=None)), *steps)
    assert [late.time for late in panes.late] == [NOON + 1, NOON + 10]


def test_a_row_that_is_ahead_reaches_its_window_which_ends_in_its_time():
    soon = NOON + DAY + 1
    steps = ProcessingTime(NOON), at(soon), ProcessingTime(soon), at(soon + 10)
    assert ended(run(counts(ms.ascending()), *steps)) == [
        ((soon - 1, soon + 9), 1, 3),
    ]


def test_what_is_exactly_as_far_ahead_as_allowed_moves_the_watermark():
    steps = ProcessingTime(100), at(105), at(120)
    assert ended(run(counts(ms.ascending(ahead=20)), *steps)) == [((100.0, 110.0), 1, 2)]
    assert ended(run(counts(ms.ascending(ahead=19.9)), *steps)) == []


def test_rows_that_are_ahead_can_be_rejected():
    policy = ms.bounded(0, ahead="1h", on_ahead="reject")
    panes = run(counts(policy), ProcessingTime(0), at(3600, 3601), Watermark.end())
    assert [pane.value for pane in panes] == [1]
    (rejected,) = panes.rejected
    assert rejected["reason"] == "event time 'at': it is more than 1h ahead of the clock"
    assert "3601" in rejected["record"]


def test_of_punctuated_rows_it_is_the_watermark_that_may_not_be_ahead():
    policy = ms.punctuated("complete", ahead=60, on_ahead="reject")
    steps = ProcessingTime(0), at(500), at(2, complete=70.0), at(3, complete=10.0), at(4)
    panes = run(counts(policy), *steps)
    assert panes.rejected[0]["reason"] == (
        "watermark 'complete': it is more than 1m ahead of the clock"
    )
    assert [pane.value for pane in panes] == [1]
    assert [late.time for late in panes.late] == [4.0]


def test_a_stream_that_falls_silent_ends_its_windows_by_the_clock_if_it_is_to():
    policy = ms.bounded(5, idle=60, then="clock")
    steps = (
        ProcessingTime(1000),
        at(1000, 1004),
        ProcessingTime(1059),
        ProcessingTime(1060),
        at(1052),
        at(1058),
    )
    panes = run(counts(policy), *steps)
    assert ended(panes) == [((1000.0, 1010.0), 2, 3)]
    assert [late.time for late in panes.late] == [], "the watermark is at 1055"
    assert ended(run(counts(ms.bounded(5, idle=60)), *steps[:4])) == []


def test_rows_that_come_after_the_clock_has_ended_their_window_are_late():
    policy = ms.bounded(5, idle=60, then="clock")
    panes = run(counts(policy), ProcessingTime(1000), at(1000), ProcessingTime(1075), at(1055))
    assert [late.time for late in panes.late] == [1055.0]


def test_the_silence_of_one_source_leaves_it_to_the_other():
    quiet = ms.bounded(5, idle=60, then="clock")
    one = test_stream("at double", "at", quiet, name="one")
    other = test_stream("at double", "at", ms.ascending(), name="other")
    both = one.union(other).window(ms.fixed(10)).aggregate(n=ms.count())
    rows = {name: Elements([{"at": 1000.0}], source=name) for name in ("one", "other")}
    later = Elements([{"at": 1011.0}], source="other")
    panes = run(both, ProcessingTime(1000), *rows.values(), ProcessingTime(1500), later)
    assert ended(panes) == [((1000.0, 1010.0), 2, 4)]


def test_the_clock_reaches_groupings_after_groupings():
    policy = ms.bounded(5, idle=60, then="clock")
    again = counts(policy).window(ms.fixed(20)).aggregate(n=ms.sum("n"))
    panes = run(again, ProcessingTime(1000), at(1000), ProcessingTime(1100))
    assert [(pane.value, pane.step) for pane in panes] == [(1, 2)]


def test_without_policies_the_steps_alone_move_the_watermark():
    assert replay(counts(ms.ascending()), steps=[at(1), at(50)]) == []


def test_policies_are_those_of_a_stream():
    with pytest.raises(TestingError, match=r"policies=True is for a stream.*\n.*Watermark\(…\)"):
        replay(window=ms.fixed(10), steps=[], policies=True)


@pytest.mark.parametrize(
    ("make", "message"),
    [
        (lambda: ms.bounded(5, then="clock"), "without idle= none is"),
        (lambda: ms.bounded(5, idle=1, then="now"), "then='now' is not a choice"),
        (lambda: ms.ascending(on_ahead="drop"), "on_ahead='drop' is not a choice"),
        (lambda: ms.ascending(ahead=None, on_ahead="reject"), "rejects nothing"),
        (lambda: ms.ascending(ahead=-1), "MS101"),
    ],
)
def test_a_policy_that_cannot_work_is_refused(make, message):
    with pytest.raises(PlanError, match=message):
        make()


def test_event_times_in_milliseconds_are_rejected_with_a_suggestion():
    panes = run(counts(ms.ascending()), at(1_763_400_000_000, 1_763_400_000_000_000, 1e17))
    assert [row["reason"].partition("9999")[2] for row in panes.rejected] == [
        ", and looks like milliseconds: write unit='ms'",
        ", and looks like microseconds: write unit='us'",
        "",
    ]
