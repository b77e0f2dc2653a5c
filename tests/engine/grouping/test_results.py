"""The values of panes: their types, and what is said where there can be none."""

from __future__ import annotations

import math
from datetime import UTC, datetime
from decimal import Decimal

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import ROWS, Advance
from millstream.engine.state.in_memory import WholeOperator
from millstream.model.errors import RunError
from millstream.model.windowing import checked_windowing
from millstream.testing import Elements, Watermark, replay, test_stream

ENGINES = ["reference", "columnar"]
LAST = Watermark.end()


def combine(extract, returns, **functions):
    functions = {"create": list, "add": lambda a, v: [*a, v], **functions}
    return ms.combine("value", extract=extract, returns=returns, **functions)


def value_of(aggregate, *values, engine="columnar"):
    """The value of one pane that holds the values, each a second after the one before."""
    elements = Elements(("k", value, float(time)) for time, value in enumerate(values))
    (pane,) = replay(
        window=ms.fixed(60), aggregate=aggregate, engine=engine, steps=[elements, LAST]
    )
    return pane.value


def panes_of(aggregates, *batches, takes_retractions=False):
    """The tables of panes: one for each batch, and one at the end, when nothing is new."""
    windowing = checked_windowing(
        ms.fixed(10), trigger=ms.at_watermark(early=ms.after_count(1)), refine=ms.discarding
    )
    aggregated = [Aggregated(f"x{i}", a, "value", "value") for i, a in enumerate(aggregates)]
    grouping = WholeOperator(Grouping(windowing, ["key"], aggregated, takes_retractions))
    made = []
    for values in batches:
        batch = pl.DataFrame({"value": values}).with_columns(key=0, time=0, sign=1)
        made += grouping.step({ROWS: batch}, -1, 0)[ROWS]
    return [*made, *grouping.step({}, 10_000_000, 0)[ROWS]]


KINDS = [
    *(pl.Int32, pl.Float64, pl.Decimal(10, 2), pl.String, pl.Boolean, pl.Binary, pl.Date),
    *(pl.Datetime("us", "UTC"), pl.List(pl.String), pl.Struct({"a": pl.Int64, "b": pl.String})),
]
OF_ANY = [
    *(f("value") for f in (ms.count, ms.min, ms.max, ms.first, ms.last, ms.any_value, ms.collect)),
    *(f("value") for f in (ms.collect_set, ms.count_distinct, ms.approx_distinct)),
    ms.top(2, by="value"),
    combine(len, "bigint"),
    combine(lambda held: None, "array<decimal(10, 2)>"),
]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("takes_retractions", [False, True])
def test_all_panes_have_the_same_types_whatever_they_hold(kind, takes_retractions):
    numeric = isinstance(kind, pl.Decimal) or kind in (pl.Int32, pl.Float64)
    numbers = [f("value") for f in (ms.sum, ms.mean, ms.variance, ms.stddev, ms.quantile)]
    panes = panes_of(
        [*OF_ANY, *(numbers if numeric else [])],
        pl.Series([_example(kind)], dtype=kind),
        pl.Series([None], dtype=kind),
        takes_retractions=takes_retractions,
    )
    assert [table.height for table in panes] == [1, 1, 1]
    assert panes[0].schema == panes[1].schema == panes[2].schema


def _example(kind):
    examples = {
        pl.Int32: 1,
        pl.Float64: 0.5,
        pl.Decimal: Decimal("1.50"),
        pl.String: "a",
        pl.Boolean: True,
        pl.Binary: b"a",
        pl.Date: datetime(2024, 1, 1, tzinfo=UTC).date(),
        pl.Datetime: datetime(2024, 1, 1, tzinfo=UTC),
        pl.List: ["a"],
        pl.Struct: {"a": 1, "b": None},
    }
    return next(example for base, example in examples.items() if kind == base)


def test_where_no_element_is_kept_the_types_of_results_can_still_be_cast_to_what_they_are():
    grouping = Grouping(
        checked_windowing(ms.fixed(10), closing="always", allowed_lateness=5),
        ["key"],
        [Aggregated(f"x{i}", a, "value", "value") for i, a in enumerate(OF_ANY)],
    )
    batch = pl.DataFrame({"key": 0, "time": 0, "sign": 1, "value": "a"})
    tables = grouping.step({}, {ROWS: batch}, Advance(-1, 10_000_000, 0, 0)).tables
    tables.pop("elements", None)
    stepped = grouping.step(tables, {}, Advance(10_000_000, 15_000_000, 0, 0))
    (panes,) = stepped.outputs[ROWS]
    (pane,) = panes.to_dicts()
    lists = [f"x{i}" for i, a in enumerate(OF_ANY) if a.name in ("collect", "collect_set", "top")]
    assert [pane[name] for name in lists] == [[], [], []]
    assert panes.cast(dict.fromkeys(lists, pl.List(pl.String))).height == 1
    assert pane[f"x{len(OF_ANY) - 2}"] == 0


@pytest.mark.parametrize(
    ("returns", "made", "kind"),
    [
        ("double", 1, pl.Float64),
        ("smallint", None, pl.Int16),
        ("decimal(10, 2)", 3, pl.Decimal(10, 2)),
        ("timestamp", datetime(2024, 1, 1, tzinfo=UTC), pl.Datetime("us", "UTC")),
        ("array<string>", [], pl.List(pl.String)),
        ("map<string, int>", {"a": 1}, pl.Map(pl.String, pl.Int32)),
        ("struct<a: int, b: array<double>>", None, pl.Struct({"a": pl.Int32, "b": pl.List(float)})),
    ],
)
def test_what_a_combine_gives_has_the_type_that_it_promises(returns, made, kind):
    aggregate = combine(lambda held: made, returns)
    assert value_of(aggregate, 1, 2) == value_of(aggregate, 1, 2, engine="reference") == made
    for table in panes_of([aggregate], [1]):
        assert table["x0"].dtype == kind


@pytest.mark.parametrize("engine", ENGINES)
def test_a_combine_that_fails_is_named_with_its_step_and_value(engine):
    def quotient(total, value):
        return total / value

    per_key = (
        test_stream("n int, at double", event_time="at")
        .window(ms.fixed(10))
        .aggregate(
            q=ms.combine("n", create=lambda: 1, add=quotient, extract=float, returns="double")
        )
    )
    rows = [{"n": n, "at": 1.0} for n in (2, 0, None)]
    with pytest.raises(RunError) as caught:
        replay(per_key, engine=engine, steps=[Elements(rows), LAST])
    assert str(caught.value).splitlines()[0] == (
        "MS201 in step 'aggregate-1': combine(n, add=quotient) failed on the value 0: "
        "ZeroDivisionError: division by zero"
    )


@pytest.mark.parametrize("engine", ENGINES)
def test_of_many_values_at_which_a_combine_fails_a_few_are_shown(engine):
    with pytest.raises(RunError) as caught:
        value_of(combine(lambda held: 1 / 0, "int"), *range(60), engine=engine)
    assert "on the values [0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 50 more]: Zero" in caught.value.what


@pytest.mark.parametrize("engine", ENGINES)
def test_a_combine_that_breaks_its_promise_is_named(engine):
    with pytest.raises(RunError) as caught:
        value_of(combine(str, "int", add=list.__add__, create=lambda: []), [1], engine=engine)
    assert caught.value.code == "MS202"
    assert caught.value.what == (
        "the result of combine(value, add=__add__) is '[1]', which does not fit INT"
    )
    assert caught.value.fix.startswith("let extract give an int from -2147483648 to 2147483647")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_combine_that_gives_more_digits_than_it_promises_is_told_to_round(engine):
    with pytest.raises(RunError, match="MS202") as caught:
        value_of(combine(lambda held: Decimal("2.3681"), "decimal(10, 2)"), 1, engine=engine)
    assert caught.value.what == (
        "the result of combine(value, add=<lambda>) is Decimal('2.3681'), which does not fit "
        "DECIMAL(10, 2): it would lose digits, so round it: round(value, 2)"
    )


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [ms.sum, ms.mean, ms.variance, ms.stddev, ms.quantile])
@pytest.mark.parametrize("values", [("1", "2"), (1, "2"), (b"1",), ([1],)])
def test_only_numbers_can_be_computed_with(engine, make, values):
    with pytest.raises(RunError, match="MS201.* failed on the values .*TypeError.* is no number"):
        value_of(make("value"), *values, engine=engine)


@pytest.mark.parametrize(
    ("values", "says"),
    [
        ((1, "a"), "no type holds both 1 and 'a'"),
        (("a", b"a"), "no type holds both 'a' and b'a'"),
        (({"a": 1}, {"b": 1}), "no type holds both {'a': 1} and {'b': 1}"),
        ((2**63,), "no type holds 9223372036854775808"),
        (("\ud800",), r"no type holds '\\ud800'"),
    ],
)
def test_a_column_holds_values_of_one_type(values, says):
    with pytest.raises(RunError, match="MS202") as caught:
        value_of(ms.collect("value"), *values)
    assert caught.value.what == f"collect(value): {says}".replace(r"\\", "\\")
    steps = [Elements([("k", value, 1)]) for value in values]
    if len(values) > 1:
        with pytest.raises(RunError, match="MS202"):
            replay(window=ms.fixed(9), aggregate=ms.max("value"), engine="columnar", steps=[*steps])


@pytest.mark.parametrize("engine", ENGINES)
def test_values_that_no_column_holds_are_counted_and_held_all_the_same(engine):
    assert value_of(ms.count("value"), 1, "a", {1}, None, engine=engine) == 3
    assert value_of(None, 1, "a", 2**70, engine=engine) == (1, 2**70, "a")


@pytest.mark.parametrize("engine", ENGINES)
def test_a_sum_that_no_type_holds_stops_the_run(engine):
    with pytest.raises(RunError, match=r"MS201: sum\(value\) is beyond what a BIGINT can hold"):
        value_of(ms.sum("value"), 2**63 - 1, 1, engine=engine)
    assert value_of(ms.sum("cast(value AS DECIMAL(38, 0))"), 2**63 - 1, 1, engine=engine) == 2**63


@pytest.mark.parametrize("engine", ENGINES)
def test_a_quantile_beside_infinity_is_that_of_spark(engine):
    infinite = [-math.inf, 1.0, 3.0, math.inf]
    quantiles = {0: -math.inf, 0.1: -math.inf, 0.5: 2.0, 0.9: math.inf, 1: math.inf}
    for q, expected in quantiles.items():
        assert value_of(ms.quantile("value", q), *infinite, engine=engine) == expected
    assert value_of(ms.quantile("value", 0.5), 1.0, 2.0, math.nan, engine=engine) == 2.0
    assert math.isnan(value_of(ms.quantile("value", 0.6), 1.0, 2.0, math.nan, engine=engine))


@pytest.mark.parametrize("engine", ENGINES)
def test_whole_rows_come_back_as_they_were(engine):
    rows = [
        {"user": "bob", "at": 2.0, "tags": ["x", None], "price": Decimal("1.50")},
        {"user": None, "at": 1.0, "tags": [], "price": None},
        {"user": "ann", "at": 3.0, "tags": None, "price": Decimal("-2")},
    ]
    grouped = (
        test_stream(
            "user string, at double, tags array<string>, price decimal(10, 2)", event_time="at"
        )
        .window(ms.fixed(10))
        .aggregate(all=ms.collect(), best=ms.top(1, by="price"), n=ms.count())
    )
    (pane,) = replay(grouped, engine=engine, steps=[Elements(rows), LAST])
    assert pane.value == {"all": [rows[1], rows[0], rows[2]], "best": [rows[0]], "n": 3}


@pytest.mark.parametrize("engine", ENGINES)
def test_nan_is_one_key_and_minus_zero_is_the_key_zero(engine):
    keys = [math.nan, -math.nan, 0.0, -0.0, None]
    panes = replay(
        window=ms.fixed(10),
        aggregate=ms.count("value"),
        engine=engine,
        steps=[*(Elements([(key, 1, 1)]) for key in keys), LAST],
    )
    assert [(str(pane.key), pane.value) for pane in panes] == [("None", 1), ("0.0", 2), ("nan", 2)]


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("make", [ms.collect, ms.collect_set])
def test_minus_zero_is_zero_in_the_items_of_lists(engine, make):
    for values in ([{"a": -0.0}, {"a": 0.0}], [{"a": 0.0}, {"a": -0.0}]):
        made = value_of(make("value"), *values, engine=engine)
        assert {repr(item) for item in made} == {"{'a': 0.0}"}


def test_a_column_of_keys_makes_one_of_both_zeros_and_of_all_nans():
    windowing = checked_windowing(ms.fixed(10))
    grouping = WholeOperator(Grouping(windowing, ["key"], [Aggregated("n", ms.count(), None)]))
    for keys in ([0.0, math.nan], [-0.0, -math.nan], [None]):
        batch = pl.DataFrame({"key": pl.Series(keys, dtype=pl.Float64), "time": 0, "sign": 1})
        grouping.step({ROWS: batch}, -1, 0)
    counts = pl.concat(grouping.step({}, 10_000_000, 0)[ROWS]).sort("key")["n"].to_list()
    assert counts == [1, 2, 2]
