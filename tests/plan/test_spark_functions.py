"""Functions of Spark SQL: a name that Spark does not have is refused when the plan is built."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.model.errors import PlanError
from millstream.plan.sql.expressions import scalar
from millstream.plan.types.schema import Schema

SCHEMA = Schema.of("s string, n int, a array<int>, t timestamp, ok boolean")


@pytest.mark.parametrize(
    ("text", "name", "guess"),
    [
        ("uper(s)", "uper", "did you mean 'upper'?"),
        ("1 + coalesc(n, 0)", "coalesc", "did you mean 'coalesce'?"),
        ("`lenght`(s) > 2", "lenght", "did you mean 'length'?"),
        ("transform(a, x -> dubble(x))", "dubble", "did you mean 'double'?"),
        ("xyzzy_42(s)", "xyzzy_42", "look for its name in Spark's reference."),
    ],
)
def test_an_unknown_function_is_refused_with_the_closest_name(
    text: str, name: str, guess: str
) -> None:
    with pytest.raises(PlanError) as caught:
        scalar(text, SCHEMA)
    assert caught.value.code == "MS124"
    assert caught.value.what == f"Spark SQL has no function {name!r}"
    assert caught.value.fix == f"{guess} One that you have registered is called session.{name}(…)"


def test_the_refusal_names_the_step() -> None:
    rows = ms.from_rows([("a",)], schema="s string")
    with pytest.raises(PlanError, match="MS124 in step 'filter-1'"):
        rows.filter("lenth(s) > 1")


@pytest.mark.parametrize(
    "text",
    [
        "try_cast(s AS decimal(10, 2))",
        "cast(s AS varchar(10))",
        "CASE WHEN (ok) THEN (1) ELSE (2) END",
        "s LIKE ALL ('a', 'b')",
        "n IS DISTINCT FROM (2)",
        "n <=> (1)",
        "t + INTERVAL (n) DAY",
        "timestampdiff(HOUR, t, t)",
        "timestampadd(HOUR, 1, t)",
        "extract(YEAR FROM (t))",
        "trim(BOTH 'x' FROM (s))",
        "overlay(s PLACING 'x' FROM 2 FOR 1)",
        "n IN (1, 2) AND NOT (ok) OR (ok)",
        "session.twice(n)",
        "system.session.twice(n)",
        "from_utc_timestamp(t, 'UTC')",
        "to_utc_timestamp(t, 'UTC')",
    ],
)
def test_what_is_spark_sql_is_not_taken_for_an_unknown_function(text: str) -> None:
    scalar(text, SCHEMA)


@pytest.mark.parametrize("text", ["TO_CHAR(n, '999')", "PARSE_JSON(s)", "LOCALTIMESTAMP()"])
def test_a_function_stays_the_one_that_was_written(text: str) -> None:
    assert scalar(text, SCHEMA).text == text
