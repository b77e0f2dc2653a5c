"""changes() in the plan: what it takes, what it refuses, and what it shows."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.physical.plan import physical
from millstream.physical.resume import stateful_plan
from millstream.plan.operators.changes import Changes
from millstream.testing import test_stream

DOORS = test_stream("door string, state string, at double", event_time="at")


def changes_of(stream: ms.Stream) -> Changes:
    assert isinstance(stream.node, Changes)
    return stream.node


def test_rows_keep_their_columns():
    changed = DOORS.key_by("door").changes("state")
    assert changed.schema == DOORS.schema
    assert not changed.settings


def test_columns_are_found_whatever_their_case_and_named_once():
    assert changes_of(DOORS.changes("STATE", "state")).columns == ("state",)
    assert changes_of(DOORS.changes()).columns == ("door", "state", "at")


def test_an_unknown_column_is_refused_in_its_step():
    with pytest.raises(PlanError, match="MS102 in step 'changes-1'"):
        DOORS.changes("colour")


@pytest.mark.parametrize(
    "settings",
    [
        lambda stream: stream.window(ms.fixed(10)),
        lambda stream: stream.trigger(ms.repeatedly(ms.after_count(1))),
        lambda stream: stream.refine(ms.accumulating),
    ],
)
def test_a_window_a_trigger_and_a_refinement_are_refused(settings):
    with pytest.raises(PlanError, match="MS117 in step 'changes-1': .* has no use for"):
        settings(DOORS.key_by("door")).changes("state")


def test_rows_that_may_be_taken_back_are_refused():
    totals = DOORS.key_by("door").window(ms.fixed(10)).refine(ms.retracting)
    with pytest.raises(PlanError, match="MS110 in step 'changes-1': 'aggregate-1' takes"):
        totals.aggregate(n=ms.count()).changes("n")


def test_a_key_that_is_a_column_is_that_of_the_records_in_kafka():
    assert changes_of(DOORS.key_by("door").changes("state")).key_columns == ("door",)
    assert changes_of(DOORS.key_by(door="upper(door)").changes("state")).key_columns == ()


def test_the_plan_shows_the_key_and_the_columns(capsys):
    DOORS.key_by("door").changes("state", "at").explain()
    lines = capsys.readouterr().out.splitlines()
    assert lines[:3] == ["changes 'changes-1'", "│    key      door", "│    watches  state, at"]


def test_its_rows_are_shuffled_by_key_and_nothing_happens_by_the_clock():
    plan = physical(DOORS.key_by("door").changes("state").collect().sinks)
    (node,) = plan.operators(1)
    assert [i.role for i in plan.instances if i.node is node] == ["prepare", "scatter", "output"]
    assert not plan.needs_clock
    assert node.needs_whole_rows
    assert stateful_plan(plan)[1:] == [
        "changes 'changes-1'",
        "    key      door",
        "    watches  state",
        "    types  door STRING, state STRING",
        "    from   test-1",
    ]
