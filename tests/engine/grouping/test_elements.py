"""What stands of elements after retractions."""

from __future__ import annotations

import polars as pl

from millstream.engine.grouping.elements import remaining


def stood(*rows):
    table = pl.DataFrame(rows, schema=["value", "time", "sign"], orient="row")
    return sorted(remaining(table).rows())


def test_a_retraction_takes_one_equal_element_of_its_time_back():
    assert stood((1, 0, 1), (1, 0, 1), (1, 0, -1)) == [(1, 0, 1)]


def test_a_retraction_of_another_time_takes_nothing_back():
    assert stood((1, 0, 1), (1, 5, -1)) == [(1, 0, 1), (1, 5, -1)]


def test_elements_without_retractions_stay_as_they_are():
    assert stood((1, 0, 1), (1, 0, 1)) == [(1, 0, 1), (1, 0, 1)]
