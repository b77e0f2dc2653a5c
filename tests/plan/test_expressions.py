"""Expressions: Spark SQL text read against a schema, typed where that is certain."""

from __future__ import annotations

from typing import Any

import pytest

from millstream.model.errors import PlanError
from millstream.plan.sql.expressions import Expression, named_scalars, scalar
from millstream.plan.types.schema import Schema

SCHEMA = Schema.of(
    "points int, big bigint, ratio float, share double, price decimal(10, 2), team string, "
    "User string, at timestamp, day date, ok boolean, end int, `select` int, `a b` int, ключ int, "
    "tags array<string>, items array<struct<n: int>>, counts map<string, double>, "
    "window struct<start: timestamp, end: timestamp>, "
    "pane struct<timing: string, index: bigint, first: boolean, last: boolean>"
)


def refusal(text: Any) -> PlanError:
    with pytest.raises(PlanError) as caught:
        scalar(text, SCHEMA)
    return caught.value


@pytest.mark.parametrize(
    ("text", "type"),
    [
        ("points", "INT"),
        ("points * 2", "INT"),
        ("points * 3000000000", "BIGINT"),  # a literal beyond 32 bits
        ("points + big", "BIGINT"),
        ("points / 2", "DOUBLE"),  # Spark never divides integers into integers
        ("points % 2", "INT"),
        ("-points", "INT"),
        ("share * 1.5", "DOUBLE"),
        ("1e3", "DOUBLE"),
        ("price", "DECIMAL(10, 2)"),
        ("cast(team AS decimal(5, 1))", "DECIMAL(5, 1)"),
        ("coalesce(points, 0)", "INT"),
        ("if(ok, 1, 2)", "INT"),
        ("year(at)", "INT"),
        ("day + 1", "DATE"),
        ("at + INTERVAL 1 DAY", "TIMESTAMP"),
        ("upper(team)", "STRING"),
        ("team || 'x'", "STRING"),
        ("points > 0 AND ok", "BOOLEAN"),
        ("team LIKE 'a%'", "BOOLEAN"),
        ("points IS NULL", "BOOLEAN"),
        ("CASE WHEN ok THEN 'a' END", "STRING"),
        ("split(team, ',')", "ARRAY<STRING>"),
        ("tags[0]", "STRING"),
        ("items[0].n", "INT"),
        ("window", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"),
        ("window.start", "TIMESTAMP"),
        ("window.end", "TIMESTAMP"),
        ("pane.timing", "STRING"),
        ("pane.index + 1", "BIGINT"),
    ],
)
def test_types_are_those_of_spark(text: str, type: str) -> None:
    assert scalar(text, SCHEMA).type == type


@pytest.mark.parametrize(
    "text",
    ["price * 2", "price + price", "points * 1.5", "1.5", "ratio * 2", "at - at", "NULL",
     "session.some_udf(points)", "counts['a']", "items.n", "from_json(team, 'a int')",
     "round(points)"],
)  # fmt: skip
def test_a_type_that_is_not_certain_is_not_claimed(text: str) -> None:
    assert scalar(text, SCHEMA).type is None


@pytest.mark.parametrize(
    ("text", "canonical", "columns"),
    [
        ("points*2", "points * 2", {"points"}),
        ("POINTS+Big", "points + big", {"points", "big"}),
        ("user", "User", {"User"}),
        ("upper(USER)", "UPPER(User)", {"User"}),
        ("WINDOW.START", "window.start", {"window"}),
        ("`a b`+1", "`a b` + 1", {"a b"}),
        ("`end` * 2", "end * 2", {"end"}),
        ("ключ", "`ключ`", {"ключ"}),
        ("points -- a remark", "points", {"points"}),
        ("transform(tags, t -> concat(t, team))", "TRANSFORM(tags, t -> CONCAT(t, team))",
         {"tags", "team"}),
        ("1", "1", set()),
    ],
)  # fmt: skip
def test_text_is_made_canonical_and_its_columns_found(
    text: str, canonical: str, columns: set[str]
) -> None:
    read = scalar(text, SCHEMA)
    assert (read.text, read.columns) == (canonical, columns)
    again = scalar(read.text, SCHEMA)
    assert again == read


@pytest.mark.parametrize("name", SCHEMA.names)
def test_a_plain_name_is_a_column_whatever_it_is_made_of(name: str) -> None:
    read = scalar(name, SCHEMA)
    assert read.columns == {name}
    assert read.type == SCHEMA.resolve(name).type


def test_an_unknown_column_gets_a_suggestion() -> None:
    error = refusal("pionts * 2")
    assert (error.code, error.what) == ("MS102", "there is no column 'pionts'")
    assert error.fix.startswith("did you mean 'points'?")


def test_an_unknown_field_of_a_struct_gets_a_suggestion() -> None:
    error = refusal("window.strat")
    assert (error.code, error.what) == ("MS102", "'window.strat': there is no field 'strat'")
    assert error.fix == "did you mean 'start'? There are: start, end"


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "it is empty"),
        ("  ", "it is empty"),
        ("points +", "stuck at '+', character 8"),
        ("points, big", "stuck at ',', character 7"),
        ("points ) big", "stuck at ')', character 8"),
        ("'abc", "cannot be read"),
        ("1; 2", "it is several statements"),
        ("DROP TABLE t", "it is a statement"),
        ("DELETE FROM t", "it is a statement"),
        ("SELECT points", "'SELECT points' is a query"),
        ("(SELECT 1)", "is a query"),
        ("points IN (SELECT 1)", "is a query"),
        ("sum(points)", "'SUM(points)' is an aggregate"),
        ("1 + count(*)", "'COUNT(*)' is an aggregate"),
        ("max(points) OVER ()", "is a window function"),
        ("explode(tags)", "makes several rows of one"),
        ("*", "means many columns"),
        ("window.*", "means many columns"),
        (":points", "is a parameter"),
        ("points AS p", "has a name where none is expected"),
        (5, "5 is no expression"),
        (None, "None is no expression"),
    ],
)
def test_what_is_no_scalar_expression_is_refused_with_its_reason(text: Any, says: str) -> None:
    error = refusal(text)
    assert error.code == "MS112"
    assert says in error.what


def names(*given: Any, **named: Any) -> list[tuple[str, str]]:
    return [(name, each.text) for name, each in named_scalars(given, named, SCHEMA)]


def test_columns_name_themselves_and_others_are_named_with_as_or_a_keyword() -> None:
    assert names("team", "window.start", "points*2 AS twice", "`a b`", half="points/2") == [
        ("team", "team"),
        ("start", "window.start"),
        ("twice", "points * 2"),
        ("a b", "`a b`"),
        ("half", "points / 2"),
    ]


def test_an_expression_without_a_name_is_refused() -> None:
    with pytest.raises(PlanError) as caught:
        names("points*2")
    assert caught.value.code == "MS112"
    assert caught.value.fix == "write 'points * 2 AS name', with a name of your choice"


class _FakeColumn:
    """Stands in for a PySpark Column, which cannot be made without a JVM."""

    def __str__(self) -> str:
        return "Column<'(points * 2)'>"


_FakeColumn.__name__, _FakeColumn.__module__ = "Column", "pyspark.sql.classic.column"


def test_a_pyspark_column_is_kept_and_judged_later() -> None:
    column = _FakeColumn()
    read = scalar(column, SCHEMA)
    assert read.column is column
    assert (read.text, read.type, read.columns) == (str(column), None, frozenset())


def test_a_pyspark_column_needs_a_keyword_for_its_name() -> None:
    with pytest.raises(PlanError, match="give it as name=column"):
        names(_FakeColumn())
    assert names(twice=_FakeColumn()) == [("twice", "Column<'(points * 2)'>")]


def test_expressions_are_compared_by_what_they_say() -> None:
    assert scalar("points*2", SCHEMA) == scalar("points * 2", SCHEMA)
    assert scalar("points", SCHEMA) != scalar("big", SCHEMA)
    assert str(Expression("points * 2", None, frozenset())) == "points * 2"
