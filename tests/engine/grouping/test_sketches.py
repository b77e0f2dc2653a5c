"""Sketches: how far they are off, how large they get, and that only their values matter."""

from __future__ import annotations

import itertools
import math
from datetime import UTC, datetime, timedelta
from decimal import Decimal

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.engine.grouping.folding import accumulator
from millstream.engine.state.blobs import packed
from millstream.reference.aggregates import Item, evaluate

ERROR = 1 / math.sqrt(2048 - 1)
"""The relative standard error of the 2,049 least of evenly spread numbers."""


def folded(aggregate, values, cuts=()):
    """The sketch of all values, merged from sketches of the parts between the cuts."""
    folder = accumulator(aggregate, "x", "v")
    column = values if isinstance(values, pl.Series) else pl.Series(values)
    table = pl.DataFrame({"v": column, "key": pl.Series([0] * len(column), dtype=pl.Int8)})
    bounds = [0, *cuts, len(column)]
    parts = [
        grouped(table[start:end].with_columns(folder.of_element()), folder)
        for start, end in itertools.pairwise(bounds)
        if start < end
    ]
    while len(parts) > 1:
        parts = [grouped(pl.concat(parts[:2]), folder), *parts[2:]]
    return parts[0]


def grouped(table, folder):
    return table.group_by("key").agg(folder.merged())


def result(aggregate, values, cuts=()):
    folder = accumulator(aggregate, "x", "v")
    return folded(aggregate, values, cuts).select(folder.result()).item()


def exact(aggregate, values):
    return evaluate(aggregate, [Item(value, 0) for value in values])


def drawn(seed, shape, size):
    """Numbers of very different kinds."""
    random = np.random.default_rng(seed)
    match shape:
        case "even":
            numbers = random.uniform(-1, 1, size)
        case "near each other":
            numbers = 1_000_000 + random.uniform(0, 100, size)
        case "over many powers of two":
            numbers = np.exp(random.normal(0, 8, size)) * random.choice([-1, 1], size)
        case "whole":
            numbers = random.integers(-5000, 20_000, size).astype(float)
        case "of any size":
            numbers = random.integers(-(2**63), 2**63 - 1, size).view(np.float64)
            numbers = numbers[~np.isnan(numbers)]
        case "with extremes":
            some = [0.0, -0.0, math.inf, -math.inf, 5e-324, -1.7e308, math.nan]
            numbers = np.concatenate([random.normal(0, 1, size), random.choice(some, size // 10)])
    return numbers.tolist()


NUMBERS = st.builds(
    drawn,
    st.integers(0, 2**32),
    st.sampled_from(
        [
            *("even", "near each other", "over many powers of two", "whole"),
            *("of any size", "with extremes"),
        ]
    ),
    st.integers(1, 12_000),
)


def cut(data, values):
    return sorted(data.draw(st.lists(st.integers(0, len(values)), max_size=5)))


@pytest.mark.parametrize(
    "kind",
    [
        *(pl.Int32, pl.Float64, pl.Decimal(10, 2), pl.String, pl.Binary),
        *(pl.Datetime("us", "UTC"), pl.List(pl.Int64), pl.Struct({"a": pl.Int64, "b": pl.String})),
    ],
)
@pytest.mark.parametrize("count", [0, 1, 100, 2048, 2049, 50_000])
def test_distinct_values_of_all_types_are_counted_exactly_up_to_2048_and_then_nearly(kind, count):
    values = pl.Series([_value(kind, i) for i in range(count)] * 2 + [None], dtype=kind)
    counted = result(ms.approx_distinct("v"), values, cuts=[count // 3, count])
    if count <= 2048:
        assert counted == count
    else:
        assert abs(counted / count - 1) < 5 * ERROR


def _value(kind, number):
    match kind:
        case pl.Int32:
            return number
        case pl.Float64:
            return number / 7
        case pl.Decimal():
            return Decimal(number) / 100
        case pl.String:
            return f"user-{number}"
        case pl.Binary:
            return number.to_bytes(9)
        case pl.Datetime():
            return datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=number)
        case pl.List():
            return [number // 100, number % 100]
    return {"a": number // 100, "b": str(number % 100)}


def test_zeros_are_one_value_and_so_are_nans_and_null_is_none():
    values = [0.0, -0.0, math.nan, -math.nan, math.inf, None]
    assert result(ms.approx_distinct("v"), values) == exact(ms.approx_distinct("v"), values) == 3


@settings(max_examples=30)
@given(st.integers(0, 2**32), st.integers(2049, 60_000))
def test_the_error_of_large_counts_is_the_one_that_is_documented(seed, count):
    random = np.random.default_rng(seed)
    values = np.unique(random.integers(-(2**63), 2**63 - 1, count))
    counted = result(ms.approx_distinct("v"), pl.Series(values))
    assert abs(counted / len(values) - 1) < 6 * ERROR


def test_the_standard_error_of_counts_is_about_two_percent():
    errors = [
        result(ms.approx_distinct("v"), pl.Series(range(start, start + 20_000))) / 20_000 - 1
        for start in range(0, 2_000_000, 20_000)
    ]
    deviation = math.sqrt(sum(error**2 for error in errors) / len(errors))
    assert 0.75 * ERROR < deviation < 1.25 * ERROR  # of 100 counts
    assert abs(sum(errors) / len(errors)) < 4 * ERROR / math.sqrt(len(errors))


@settings(max_examples=100)
@given(NUMBERS, st.sampled_from([0.0, 0.01, 0.25, 0.5, 0.9, 0.99, 0.999, 1.0]))
def test_quantiles_are_off_by_no_more_than_is_documented(values, q):
    found = result(ms.approx_quantile("v", q), values)
    ordered = sorted((value + 0.0 for value in values), key=lambda v: (math.isnan(v), v))
    if len(set(map(repr, ordered))) <= 2048:
        expected = exact(ms.approx_quantile("v", q), values)
        assert found == expected or (math.isnan(found) and math.isnan(expected))
        return
    position = q * (len(ordered) - 1)
    below, above = ordered[math.floor(position)], ordered[math.ceil(position)]
    finite = [value for value in ordered if math.isfinite(value) and value]
    powers = len({(value > 0, math.frexp(value)[1]) for value in finite})
    reach = powers / 2048
    if math.isnan(found):
        assert math.isnan(above) or {below, above} == {math.inf, -math.inf}
    else:
        assert lowest(below, reach) <= found
        assert math.isnan(above) or found <= -lowest(-above, reach)


def lowest(value, reach):
    """The least that a value may be taken for; what is below 2**-1022 is next to zero."""
    return value - reach * abs(value) - 2.0**-1021


@settings(max_examples=60)
@given(NUMBERS, st.sampled_from([ms.approx_quantile("v", 0.5), ms.approx_distinct("v")]), st.data())
def test_a_sketch_has_the_same_bytes_whatever_the_order_and_the_parts_of_its_values(
    values, aggregate, data
):
    whole = folded(aggregate, values)
    mixed = np.random.default_rng(1).permutation(values)
    again = folded(aggregate, mixed.tolist(), cut(data, values))
    assert packed(again) == packed(whole)


@pytest.mark.parametrize(
    "shape", ["even", "over many powers of two", "of any size", "with extremes"]
)
def test_a_sketch_has_a_bounded_size(shape):
    values = drawn(3, shape, 200_000)
    histogram = folded(ms.approx_quantile("v"), values)["x.histogram"].item()
    assert 1024 <= len(histogram["at"]) <= 2048 + 4  # zero, two infinities and NaN
    assert len(histogram["at"]) == len(histogram["count"])
    assert sum(histogram["count"]) == len(values)
    assert len(folded(ms.approx_distinct("v"), values)["x.least"].item()) == 2049


@pytest.mark.parametrize("aggregate", [ms.approx_distinct("v"), ms.approx_quantile("v")])
def test_of_many_groups_each_has_its_own_sketch(aggregate):
    folder = accumulator(aggregate, "x", "v")
    sizes = {0: 1, 1: 5000, 2: 0, 3: 2048, 4: 30_000}
    rows = [(key, float(key * 7 + i)) for key, size in sizes.items() for i in range(size)]
    rows += [(2, None)]
    table = pl.DataFrame(rows, schema={"key": pl.Int8, "v": pl.Float64}, orient="row")
    mixed = table.sample(fraction=1, shuffle=True, seed=1)
    panes = grouped(mixed.with_columns(folder.of_element()), folder)
    found = dict(panes.select("key", folder.result()).iter_rows())
    for key, size in sizes.items():
        alone = [float(key * 7 + i) for i in range(size)] or [None]
        assert found[key] == result(aggregate, pl.Series(alone, dtype=pl.Float64))


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int64, pl.Float32, pl.Decimal(20, 3)])
def test_quantiles_are_those_of_numbers_of_any_type(kind):
    values = pl.Series([3, None, 1, 2, 100], dtype=kind)
    assert result(ms.approx_quantile("v", 0.5), values) == 2.5
    assert result(ms.approx_quantile("v", 1), values) == 100.0
