"""Pairs are found whatever the length of the interval, with cells of time or without."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.joins import matching
from millstream.engine.joins.matching import Matching

ROWS = st.lists(st.tuples(st.sampled_from([1, 2, None]), st.integers(-60, 60)), max_size=15)


def table(rows):
    return pl.DataFrame(rows, schema={"k": pl.Int64, "time": pl.Int64}, orient="row")


@given(ROWS, ROWS, st.integers(-20, 20), st.integers(0, 20), st.sampled_from([-1, 10**6]))
def test_pairs_are_those_of_two_loops(left, right, earliest, length, many):
    expected = [
        (i, j)
        for i, (a, time) in enumerate(left)
        for j, (b, other) in enumerate(right)
        if a is not None and a == b and earliest <= other - time <= earliest + length
    ]
    with patch.object(matching, "_MANY", many):  # always in cells, or never
        found = Matching(["k"], earliest, earliest + length).pairs(table(left), table(right))
    assert found.rows() == expected


@given(ROWS, ROWS, st.integers(-20, 20), st.integers(0, 20), st.booleans())
def test_a_row_meets_any_if_it_is_in_a_pair(left, right, earliest, length, by_pairs):
    matching = Matching(["k"], earliest, earliest + length, every if by_pairs else None)
    pairs = matching.pairs(table(left), table(right))
    for is_left, side, both in ((True, "l", (left, right)), (False, "r", (right, left))):
        found = matching.met(table(both[0]), table(both[1]), is_left)
        assert set(found.nonzero()[0]) == set(pairs[side])


def every(left, right):
    return pl.Series([True] * left.height)


def test_a_condition_sees_the_rows_of_each_pair():
    def later(left, right):
        return right["time"] > left["time"]

    found = Matching(["k"], -5, 5, later).pairs(table([(1, 0)]), table([(1, -1), (1, 0), (1, 1)]))
    assert found.rows() == [(0, 2)]


@pytest.mark.parametrize("both", [([], [(1, 0)]), ([(1, 0)], [])])
def test_nothing_meets_nothing(both):
    left, right = map(table, both)
    assert Matching(["k"], 0, 0).pairs(left, right).rows() == []
