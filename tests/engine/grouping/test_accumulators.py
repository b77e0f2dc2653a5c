"""Partial results, however they are merged, give what the reference gives for all at once."""

from __future__ import annotations

import math
from decimal import Decimal

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from agreement import rounded
from millstream.engine.grouping.accumulators import with_one_zero
from millstream.engine.grouping.folding import accumulator
from millstream.model.errors import RunError
from millstream.reference.aggregates import Item, beyond, evaluate
from millstream.testing.untyped import UntypedColumn
from scripts import LARGE, NUMBERS, OTHERS

OF_ORDER = [f("v") for f in (ms.count, ms.min, ms.max, ms.any_value, ms.first, ms.last)]
OF_NUMBERS = [f("v") for f in (ms.sum, ms.mean, ms.variance, ms.stddev)]
PROGRAMS = [
    *((a, values) for values in NUMBERS.values() for a in (*OF_ORDER, *OF_NUMBERS)),
    *((a, values) for values in LARGE.values() for a in (*OF_ORDER, *4 * [ms.sum("v")])),
    *((a, values) for values in OTHERS.values() for a in OF_ORDER),
]


def merged(aggregate, parts):
    """The result over parts that are folded apart from each other, and over nothing."""
    folder = accumulator(aggregate, "x", "v")
    tables = []
    for part in parts:
        folded = grouped(part.with_columns(folder.of_element()), folder)
        nothing = folded.with_columns(**dict(folder.neutral()))
        tables += [folded, nothing]
    panes = grouped(pl.concat(tables, how="diagonal_relaxed"), folder)
    type = folder.beyond(panes)
    if type is not None:
        raise beyond(aggregate, type)
    return panes.select(folder.result()).item()


def grouped(rows, folder):
    # Of a column, as in the engine: a sum of decimals that is no group's stops at their limit.
    return rows.with_columns(key=pl.lit(0)).group_by("key").agg(folder.merged()).drop("key")


def table(values, times=None):
    of = UntypedColumn("v").of(list(values))
    return pl.DataFrame({"v": of, "time": times or [0] * len(of)})


def result(aggregate, *values):
    made = merged(aggregate, [table(values)])
    return made.to_list() if isinstance(made, pl.Series) else made


def outcome(compute):
    try:
        made = compute()
    except RunError as error:
        return str(error)
    return rounded(made.to_list() if isinstance(made, pl.Series) else made)


@settings(max_examples=1000)
@given(
    st.sampled_from(PROGRAMS).flatmap(
        lambda p: st.tuples(
            st.just(p[0]),
            st.lists(
                st.tuples(st.sampled_from(p[1]), st.integers(0, 3), st.integers(0, 2)),
                min_size=1,
                max_size=8,
            ),
        )
    )
)
def test_parts_give_together_what_the_whole_gives(program):
    aggregate, elements = program
    values, times, places = zip(*elements, strict=True)
    whole = table(values, list(times)).with_columns(place=pl.Series(places))
    parts = [part.drop("place") for part in whole.partition_by("place")]
    expected = outcome(lambda: evaluate(aggregate, [Item(v, t) for v, t, _ in elements]))
    assert outcome(lambda: merged(aggregate, parts)) == expected


@pytest.mark.parametrize("kind", [pl.Int8, pl.Int16, pl.Int32, pl.Int64])
def test_a_sum_has_room_for_what_its_summands_have_no_room_for(kind):
    most = kind.max()
    part = pl.DataFrame({"v": pl.Series([pl.select(most).item()] * 2, dtype=kind)})
    if kind == pl.Int64:
        with pytest.raises(RunError, match=r"MS201: sum\(v\) is beyond what a BIGINT can hold"):
            merged(ms.sum("v"), [part, part])
    else:
        assert merged(ms.sum("v"), [part, part]) == 4 * part["v"][0]


def test_a_sum_may_leave_its_type_on_the_way_if_it_comes_back():
    assert result(ms.sum("v"), 2**63 - 1, 2**63 - 1, -(2**63 - 1), -5) == 2**63 - 6


def test_summands_of_decimals_may_together_reach_almost_38_digits():
    half, rest = Decimal("5E+37"), Decimal("4.8E+37")
    assert result(ms.sum("v"), half, -rest) == half - rest
    for values in ([half, half], [half, -half, Decimal(1)], [Decimal("9" * 38)]):
        with pytest.raises(RunError) as caught:
            result(ms.sum("v"), *values)
        assert caught.value.what == "sum(v) is beyond what a DECIMAL can hold"
        assert caught.value.fix == "sum a wider type: ms.sum('cast(v AS DOUBLE)')"
        with pytest.raises(RunError, match="beyond what a DECIMAL can hold"):
            evaluate(ms.sum("v"), [Item(value, 0) for value in values])


def test_the_least_and_the_greatest_integers_are_no_overflow():
    assert result(ms.sum("v"), 2**63 - 1) == 2**63 - 1
    assert result(ms.sum("v"), -(2**62), -(2**62)) == -(2**63)
    with pytest.raises(RunError) as caught:
        result(ms.sum("v"), 2**63 - 1, 1)
    assert caught.value.fix == "sum a wider type: ms.sum('cast(v AS DECIMAL(38, 0))')"


def test_nan_is_greater_than_all_numbers():
    assert math.isnan(result(ms.max("v"), 1.0, math.nan, math.inf))
    assert result(ms.min("v"), 1.0, math.nan) == 1.0
    assert math.isnan(result(ms.min("v"), math.nan, math.nan))


@pytest.mark.parametrize("make", [ms.min, ms.max, ms.any_value, ms.first, ms.last])
def test_minus_zero_is_zero(make):
    for values in ([-0.0], [0.0, -0.0], [-0.0, 0.0]):
        assert math.copysign(1, result(make("v"), *values)) == 1
        assert math.copysign(1, evaluate(make(), [Item(v, 0) for v in values])) == 1


NESTED = [
    lambda zero: {"a": 1, "b": zero},
    lambda zero: [1.5, zero, None],
    lambda zero: [{"a": [zero], "b": None}, None],
]


@pytest.mark.parametrize("make", [ms.min, ms.max, ms.any_value, ms.first, ms.last])
@pytest.mark.parametrize("nested", NESTED)
def test_minus_zero_is_zero_however_deep_it_stands(make, nested):
    for zeros in ([-0.0], [0.0, -0.0], [-0.0, 0.0]):
        values = [nested(zero) for zero in zeros]
        assert repr(result(make("v"), *values)) == repr(nested(0.0))
        assert repr(evaluate(make(), [Item(v, 0) for v in values])) == repr(nested(0.0))


def test_one_zero_leaves_all_else_as_it_is():
    struct = pl.Struct({"f": pl.Float32, "s": pl.String, "l": pl.List(pl.Struct({"x": pl.Int8}))})
    kinds = {
        "plain": (pl.Int64, [-1, None]),
        "list": (pl.List(pl.Float64), [[math.inf, None], None]),
        "struct": (struct, [{"f": None, "s": "a", "l": [{"x": 1}, None]}, None]),
        "map": (pl.Map(pl.String, pl.Float64), [{"a": None, "b": 0.5}, None]),
        "no floats": (pl.List(pl.Struct({"a": pl.String})), [[{"a": "x"}], None]),
    }
    rows = pl.DataFrame([pl.Series(n, values, kind) for n, (kind, values) in kinds.items()])
    assert rows.with_columns(with_one_zero(*kinds)).equals(rows)
    zeros = pl.DataFrame({"m": pl.Series([{"a": -0.0}], dtype=pl.Map(pl.String, pl.Float64))})
    assert repr(zeros.select(with_one_zero("m")).item()) == "{'a': 0.0}"


def test_the_variance_of_equal_values_is_exactly_zero_in_any_parts():
    parts = [table([0.1] * n) for n in (3, 7, 1)]
    assert merged(ms.variance("v"), parts) == 0


def test_parts_without_values_change_no_variance():
    known, nothing = table([0.1, 0.7, 0.3]), table([None, None]).cast({"v": pl.Float64})
    alone = merged(ms.variance("v"), [known])
    assert merged(ms.variance("v"), [nothing, known, nothing]) == alone


def test_lists_and_structs_have_a_least_and_a_greatest():
    assert result(ms.min("v"), [2], [1, 5], None) == [1, 5]
    assert result(ms.max("v"), {"a": 1, "b": None}, {"a": 1, "b": 0}) == {"a": 1, "b": 0}


@pytest.mark.parametrize(
    "kind",
    [
        *(pl.Int32, pl.Float32, pl.Decimal(10, 2), pl.Boolean, pl.String, pl.Binary, pl.Date),
        *(pl.Datetime("us", "UTC"), pl.List(pl.Int64), pl.Struct({"a": pl.Float64})),
        pl.Map(pl.String, pl.Int64),
    ],
)
@pytest.mark.parametrize("make", [ms.min, ms.max, ms.first, ms.last, ms.any_value])
def test_a_value_has_the_type_of_its_column_even_if_there_is_none(make, kind):
    folder = accumulator(make("v"), "x", "v")
    part = pl.DataFrame({"v": pl.Series([None], dtype=kind), "time": 0})
    panes = grouped(part.with_columns(folder.of_element()), folder)
    assert panes.select(folder.result()).to_series().dtype == kind


@pytest.mark.parametrize(
    ("kind", "summed"),
    [
        *((kind, pl.Int64) for kind in (pl.Int8, pl.Int32, pl.Int64, pl.Null)),
        *((kind, pl.Float64) for kind in (pl.Float32, pl.Float64)),
        (pl.Decimal(10, 2), pl.Decimal(38, 2)),
    ],
)
def test_a_sum_has_its_type_even_if_there_is_nothing_to_sum(kind, summed):
    folder = accumulator(ms.sum("v"), "x", "v")
    part = pl.DataFrame({"v": pl.Series([None], dtype=kind)})
    panes = grouped(part.with_columns(folder.of_element()), folder)
    total = panes.select(folder.result()).to_series()
    assert (total.dtype, total.to_list()) == (summed, [0])
