"""MS103: aggregates take only types that they have a meaning for; and the types they give."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.stream import Stream

SCHEMA = (
    "t tinyint, i int, l bigint, f float, d double, p decimal(10, 2), s string, b boolean, "
    "at timestamp, a array<int>, m map<string, int>, r struct<x: int>"
)
ROWS = ms.from_rows([], schema=SCHEMA)
NUMERIC = (ms.sum, ms.mean, ms.variance, ms.stddev, ms.quantile, ms.approx_quantile)
COMPARABLE = (ms.min, ms.max, ms.collect_set, ms.count_distinct, ms.approx_distinct)


def result(aggregate: object, rows: Stream = ROWS) -> str | None:
    field = rows.aggregate(x=aggregate).schema.find("x")
    assert field
    return field.type


@pytest.mark.parametrize("make", NUMERIC)
@pytest.mark.parametrize("column", ["s", "b", "at", "a", "m", "r"])
def test_what_is_no_number_is_refused_where_numbers_are_wanted(make: object, column: str) -> None:
    aggregate = make(column)  # type: ignore[operator]
    with pytest.raises(ms.PlanError) as caught:
        ROWS.aggregate(x=aggregate)
    assert caught.value.code == "MS103"
    assert f"but {aggregate.name} takes numbers" in caught.value.what


def test_the_refusal_says_the_type_and_what_to_write() -> None:
    with pytest.raises(ms.PlanError) as caught:
        ROWS.aggregate(total=ms.sum("s"))
    assert str(caught.value) == (
        "MS103 in step 'aggregate-1': total = sum(s): 's' is STRING, but sum takes numbers\n"
        "  What to do: give it a number, such as ms.sum('cast(s AS DOUBLE)'), "
        "or count the values: ms.count('s')\n"
        "  More: millstream help MS103"
    )


@pytest.mark.parametrize("make", NUMERIC)
@pytest.mark.parametrize("column", ["t", "i", "l", "f", "d", "p", "p * 2", "session.some_udf(s)"])
def test_numbers_and_what_has_no_known_type_pass(make: object, column: str) -> None:
    ROWS.aggregate(x=make(column))  # type: ignore[operator]


@pytest.mark.parametrize("make", COMPARABLE)
def test_a_map_is_refused_where_values_are_compared(make: object) -> None:
    with pytest.raises(ms.PlanError, match=r"MS103 .*'m' is MAP<STRING, INT>"):
        ROWS.aggregate(x=make("m"))  # type: ignore[operator]


@pytest.mark.parametrize("make", COMPARABLE)
@pytest.mark.parametrize("column", ["i", "s", "b", "at", "a", "r"])
def test_comparable_values_pass_where_values_are_compared(make: object, column: str) -> None:
    ROWS.aggregate(x=make(column))  # type: ignore[operator]


def test_top_needs_an_order_and_takes_any_value() -> None:
    with pytest.raises(ms.PlanError, match="MS103"):
        ROWS.aggregate(x=ms.top(3, by="m"))
    assert result(ms.top(3, by="i", of="m")) == "ARRAY<MAP<STRING, INT>>"


@pytest.mark.parametrize(
    ("aggregate", "type"),
    [
        (ms.count(), "BIGINT"),
        (ms.count("s"), "BIGINT"),
        (ms.count_distinct("s"), "BIGINT"),
        (ms.approx_distinct("s"), "BIGINT"),
        (ms.sum("t"), "BIGINT"),
        (ms.sum("l"), "BIGINT"),
        (ms.sum("f"), "DOUBLE"),
        (ms.sum("d"), "DOUBLE"),
        (ms.sum("p"), "DECIMAL(20, 2)"),
        (ms.sum("cast(s AS decimal(30, 4))"), "DECIMAL(38, 4)"),
        (ms.sum("p * 2"), None),
        (ms.mean("i"), "DOUBLE"),
        (ms.variance("i"), "DOUBLE"),
        (ms.stddev("p"), "DOUBLE"),
        (ms.quantile("i", 0.9), "DOUBLE"),
        (ms.approx_quantile("i"), "DOUBLE"),
        (ms.min("s"), "STRING"),
        (ms.max("at"), "TIMESTAMP"),
        (ms.first("m"), "MAP<STRING, INT>"),
        (ms.last("a"), "ARRAY<INT>"),
        (ms.any_value("b"), "BOOLEAN"),
        (ms.collect("s"), "ARRAY<STRING>"),
        (ms.collect_set("i"), "ARRAY<INT>"),
        (ms.collect("p * 2"), None),
        (ms.top(2, by="i", of="s"), "ARRAY<STRING>"),
    ],
)
def test_a_result_has_the_type_that_spark_would_give_it(
    aggregate: object, type: str | None
) -> None:
    assert result(aggregate) == type


def test_whole_rows_are_structs() -> None:
    rows = ms.from_rows([], schema="`a b` int, s string")
    for aggregate in (ms.collect(), ms.top(1, by="s")):
        assert result(aggregate, rows) == "ARRAY<STRUCT<`a b`: INT, s: STRING>>"


def combine(returns: object) -> object:
    return ms.combine(
        "i",
        create=int,
        add=max,
        extract=abs,
        returns=returns,  # type: ignore[arg-type]
    )


def test_combine_gives_what_it_says() -> None:
    assert result(combine("array<decimal>")) == "ARRAY<DECIMAL(10, 0)>"


def test_combine_must_say_a_type() -> None:
    with pytest.raises(ms.PlanError, match="MS111 in step 'aggregate-1': 'numbr'"):
        result(combine("numbr"))


@pytest.mark.parametrize(
    "aggregate", [*(make() for make in (*NUMERIC, *COMPARABLE)), ms.first(), ms.any_value()]
)
def test_an_aggregate_of_nothing_is_refused(aggregate: object) -> None:
    with pytest.raises(ms.PlanError, match="MS113 in step 'aggregate-1': x: .* of nothing"):
        ROWS.aggregate(x=aggregate)


@pytest.mark.parametrize("given", [5, "sum(i)", ms.sum, None])
def test_what_is_no_aggregate_is_refused(given: object) -> None:
    with pytest.raises(ms.PlanError, match="MS113 .* is no aggregate"):
        ROWS.aggregate(total=given)


def test_an_aggregation_of_no_aggregates_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="MS113 .* nothing to aggregate"):
        ROWS.aggregate()


def test_top_without_an_order_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="MS113 .* has no order"):
        ROWS.aggregate(x=ms.top(3, by=None))


def test_an_unknown_column_in_an_aggregate_is_refused() -> None:
    with pytest.raises(ms.PlanError, match="MS102 in step 'aggregate-1': there is no column 'k'"):
        ROWS.aggregate(x=ms.sum("k"))
