"""changes(): a row is emitted where it differs from the one of its key before it."""

from __future__ import annotations

import math
from itertools import groupby
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from millstream.plan.nodes import walk
from millstream.reference.interpreter import Interpreter
from millstream.testing import test_stream

SCHEMA = "door string, state string, at double"


def run(stream: ms.Stream, *steps: Any, marks: tuple[float, ...] = ()) -> list[list[tuple]]:
    """The rows of the stream in each step, made of the rows of its one source."""
    (source,) = [node for node in walk(stream.node) if not node.inputs]
    program = Interpreter(stream.node)
    names = source.schema.names
    made = []
    for i, rows in enumerate(steps):
        step = program.step(
            rows={source.name: [dict(zip(names, row, strict=True)) for row in rows]},
            watermarks={source.name: int(marks[i] * 1_000_000)} if marks else {},
        )
        made.append([tuple(row.values.values()) for row in step.rows[stream.node]])
    return made


def doors() -> ms.Stream:
    return test_stream(SCHEMA, event_time="at").key_by("door")


def test_the_first_row_of_a_key_is_a_change():
    rows = [("front", "open", 1.0), ("back", "open", 2.0)]
    assert run(doors().changes("state"), rows) == [rows]


def test_a_row_like_the_one_of_its_key_before_it_is_no_change():
    rows = [("front", "open", 1.0), ("front", "open", 2.0), ("front", "shut", 3.0)]
    assert run(doors().changes("state"), rows) == [[rows[0], rows[2]]]


def test_a_value_that_comes_back_is_a_change():
    rows = [("front", state, at) for at, state in enumerate(["open", "shut", "open"])]
    assert run(doors().changes("state"), rows) == [rows]


def test_the_last_row_of_a_step_is_compared_with_the_first_of_the_next():
    open_, still, shut = (
        [("front", "open", 1.0)],
        [("front", "open", 2.0)],
        [("front", "shut", 3.0)],
    )
    assert run(doors().changes("state"), open_, still, shut) == [open_, [], shut]


def test_rows_of_a_step_are_compared_in_the_order_of_their_event_times():
    rows = [("front", "shut", 3.0), ("front", "open", 1.0), ("front", "open", 2.0)]
    assert run(doors().changes("state"), rows) == [[rows[1], rows[0]]]


def test_rows_of_one_event_time_are_compared_as_they_arrive():
    rows = [("front", "open", 1.0), ("front", "shut", 1.0), ("front", "open", 1.0)]
    assert run(doors().changes("state"), rows) == [rows]


def test_a_row_of_a_later_step_is_compared_with_the_last_one_whatever_its_time():
    shut, earlier = [("front", "shut", 9.0)], [("front", "open", 1.0)]
    assert run(doors().changes("state"), shut, earlier, shut) == [shut, earlier, shut]


def test_without_columns_all_are_compared():
    rows = [("front", "open", 1.0), ("front", "open", 1.0), ("front", "open", 2.0)]
    assert run(doors().changes(), rows) == [[rows[0], rows[2]]]


def test_without_a_key_all_rows_are_compared_with_one_another():
    rows = [("front", "open", 1.0), ("back", "open", 2.0), ("back", "shut", 3.0)]
    stream = test_stream(SCHEMA, event_time="at").changes("state")
    assert run(stream, rows) == [[rows[0], rows[2]]]


def test_rows_without_event_times_are_compared_as_they_arrive():
    rows = [("front", "shut", 3.0), ("front", "shut", 1.0), ("front", "open", 2.0)]
    assert run(test_stream(SCHEMA).key_by("door").changes("state"), rows) == [[rows[0], rows[2]]]


@pytest.mark.parametrize("key", ["upper(door)", lambda row: row["door"].upper()])
def test_a_key_may_be_an_expression_or_a_function(key):
    rows = [("front", "open", 1.0), ("FRONT", "open", 2.0), ("back", "open", 3.0)]
    stream = test_stream(SCHEMA, event_time="at")
    keyed = stream.key_by(key, type="string") if callable(key) else stream.key_by(key=key)
    assert run(keyed.changes("state"), rows) == [[rows[0], rows[2]]]


def test_nulls_equal_each_other_and_so_do_nans():
    stream = test_stream("n double, at int", event_time="at").changes("n")
    values = [None, None, math.nan, math.nan, 0.0, -0.0]
    ((*made,),) = run(stream, [(value, at) for at, value in enumerate(values)])
    assert [at for _, at in made] == [0, 2, 4]


def test_rows_keep_their_event_times_and_pass_before_the_watermark():
    counts = doors().changes("state").window(ms.fixed(10)).aggregate(n=ms.count())
    rows = [("front", "open", 1.0), ("front", "open", 2.0), ("front", "shut", 11.0)]
    first, second = run(counts.select("n"), rows, [], marks=(10.0, 20.0))
    assert (first, second) == ([(1,)], [(1,)])


@given(
    st.lists(
        st.lists(st.tuples(st.sampled_from("ab"), st.sampled_from("xyz"), st.integers(0, 3))),
        max_size=4,
    )
)
def test_each_key_gives_its_runs_of_equal_values(steps):
    made = [row for step in run(doors().changes("state"), *steps) for row in step]
    arrived = [row for step in steps for row in sorted(step, key=lambda row: row[2])]
    for door in "ab":
        states = [state for key, state, _ in arrived if key == door]
        assert [s for key, s, _ in made if key == door] == [s for s, _ in groupby(states)]


def test_a_bounded_program_needs_no_spark():
    rows = [("front", "open", 1.0), ("front", "open", 2.0), ("front", "shut", 3.0)]
    stream = ms.from_rows(rows, schema=SCHEMA, event_time="at").key_by("door").changes("state")
    assert [row["at"] for row in stream.collect().run().rows()] == [1.0, 3.0]
