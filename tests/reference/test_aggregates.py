"""Aggregates, against arithmetic and the standard library."""

from __future__ import annotations

import math
import statistics
from datetime import UTC, datetime, timedelta, timezone
from decimal import Decimal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.model import aggregates as ms
from millstream.reference.aggregates import Item, evaluate

numbers = st.lists(st.integers(-1000, 1000), min_size=2, max_size=20)


def over(aggregate, values, bys=None):
    bys = values if bys is None else bys
    return evaluate(
        aggregate, [Item(v, t, by=b) for t, (v, b) in enumerate(zip(values, bys, strict=True))]
    )


@given(numbers)
def test_the_numeric_aggregates_agree_with_the_standard_library(values):
    assert over(ms.count(), values) == len(values)
    assert over(ms.sum(), values) == sum(values)
    assert over(ms.min(), values) == min(values)
    assert over(ms.max(), values) == max(values)
    assert over(ms.mean(), values) == pytest.approx(statistics.fmean(values))
    assert over(ms.variance(), values) == pytest.approx(statistics.variance(values))
    assert over(ms.stddev(), values) == pytest.approx(statistics.stdev(values))
    assert over(ms.quantile(q=0.5), values) == pytest.approx(statistics.median(values))
    assert over(ms.count_distinct(), values) == len(set(values))
    assert over(ms.collect_set(), values) == sorted(set(values))


@given(numbers, st.randoms(use_true_random=False))
def test_no_aggregate_depends_on_the_order_of_its_elements(values, shuffler):
    items = [Item(v / 7, i % 3, by=v % 5) for i, v in enumerate(values)]
    shuffled = list(items)
    shuffler.shuffle(shuffled)
    for aggregate in (
        *(f() for f in (ms.sum, ms.mean, ms.variance, ms.first, ms.last, ms.any_value)),
        *(f() for f in (ms.collect, ms.collect_set, ms.quantile)),
        ms.top(2, by="value"),
    ):
        assert evaluate(aggregate, items) == evaluate(aggregate, shuffled), aggregate


@pytest.mark.parametrize(
    ("aggregate", "of_nothing"),
    [
        (ms.count(), 0),
        (ms.sum(), 0),
        (ms.min(), None),
        (ms.max(), None),
        (ms.mean(), None),
        (ms.variance(), None),
        (ms.stddev(), None),
        (ms.first(), None),
        (ms.last(), None),
        (ms.any_value(), None),
        (ms.collect(), []),
        (ms.collect_set(), []),
        (ms.count_distinct(), 0),
        (ms.approx_distinct(), 0),
        (ms.top(2, by="value"), []),
        (ms.quantile(), None),
        (ms.approx_quantile(), None),
    ],
)
def test_nulls_are_skipped_so_all_null_is_as_nothing(aggregate, of_nothing):
    assert over(aggregate, []) == of_nothing
    assert over(aggregate, [None, None]) == of_nothing


def test_variance_of_one_value_is_null():
    assert over(ms.variance(), [5]) is None
    assert over(ms.stddev(), [5]) is None


def test_first_and_last_go_by_event_time_and_then_by_value():
    items = [Item("late", 9), Item("b", 1), Item("a", 1), Item("y", 9)]
    assert evaluate(ms.first(), items) == "a"
    assert evaluate(ms.last(), items) == "y"
    assert evaluate(ms.collect(), items) == ["a", "b", "late", "y"]


def test_top_ranks_by_its_order_and_breaks_ties_by_value():
    assert over(ms.top(2, by="x"), ["b", "a", "c"], [3, 3, 9]) == ["c", "a"]
    assert over(ms.top(9, by="x"), ["b", "a"], [1, None]) == ["b"]


def test_sums_of_floats_are_correctly_rounded_and_survive_infinities():
    assert over(ms.sum(), [1e16, 1.0, -1e16]) == 1.0
    assert over(ms.sum(), [math.inf, 1.0]) == math.inf
    assert math.isnan(over(ms.sum(), [math.inf, -math.inf]))
    assert over(ms.sum(), [Decimal("0.1"), Decimal("0.2")]) == Decimal("0.3")


def test_sums_of_decimals_keep_all_digits():
    large, small = Decimal("12345678901234567890123456789012345.67"), Decimal("0.01")
    assert str(over(ms.sum(), [large, small])) == "12345678901234567890123456789012345.68"


def test_a_quantile_beside_infinity_is_a_number():
    assert over(ms.quantile(q=0.0), [1.0, math.inf]) == 1.0
    assert over(ms.quantile(q=1.0), [1.0, math.inf]) == math.inf


def test_retractions_subtract_in_sums_and_counts():
    items = [Item(5, 0), Item(3, 1, "-")]
    assert evaluate(ms.sum(), items) == 2
    assert evaluate(ms.count(), items) == 0
    assert evaluate(ms.max(), [Item(9, 0, "-"), Item(3, 1)]) == 3


def test_instants_that_floats_cannot_tell_apart_are_two():
    at = datetime(3000, 1, 1, tzinfo=UTC)
    later = at + timedelta(microseconds=1)
    assert at.timestamp() == later.timestamp()
    assert over(ms.collect_set(), [later, at]) == [at, later]
    assert over(ms.max(), [later, at]) == later
    assert over(ms.count_distinct(), [at, at.astimezone(timezone(timedelta(hours=5)))]) == 1


def test_a_combine_folds_in_the_order_of_event_time():
    text = ms.combine(create=list, add=lambda a, v: [*a, v], extract="".join, returns="string")
    assert evaluate(text, [Item("b", 2), Item("a", 1)]) == "ab"
