"""Expressions with Spark's meaning: nulls, three truth values, ANSI arithmetic."""

from __future__ import annotations

from datetime import UTC, date, datetime
from decimal import Decimal

import pytest

from millstream.model.errors import RunError
from millstream.plan.sql.failures import SqlError
from millstream.plan.types.schema import Schema
from millstream.reference.expressions import compiled

SCHEMA = Schema.of(
    "a int, b int, n int, x double, s string, t boolean, at timestamp, xs array<int>, "
    "window struct<start: int, end: int>, m map<string, int>, `größe` int, big bigint, "
    "ps array<struct<p: int>>"
)

ROW = {
    "a": 7,
    "b": -2,
    "n": None,
    "x": 2.5,
    "s": "Straße",
    "t": True,
    "at": datetime(2024, 3, 31, 1, 30, tzinfo=UTC),
    "xs": [1, 2, None],
    "window": {"start": None, "end": 5},
    "m": {"k": 1},
    "größe": 3,
    "big": 2**63 - 1,
    "ps": [{"p": 4}, None, {"p": 6}],
}


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a + b * 2", 3),
        ("ps[2].p + 1", 7),
        ("cast(at AS DOUBLE)", 1711848600.0),
        ("cast(cast(-0.5 AS TIMESTAMP) AS BIGINT)", -1),
        ("cast(cast(1.25 AS TIMESTAMP) AS STRING)", "1970-01-01 00:00:01.25"),
        ("ps[1].p", None),
        ("PS[0].P", 4),
        ("ps.p", [4, None, 6]),
        ("-a", -7),
        ("a / 2", 3.5),
        ("a % b", 1),
        ("b % 7", -2),
        ("a div 2", 3),
        ("b div 4", 0),
        ("a > 3 AND n > 3", None),
        ("a < 3 AND n > 3", False),
        ("a > 3 OR n > 3", True),
        ("NOT (a = 7)", False),
        ("n = n", None),
        ("n IS NULL", True),
        ("a IS NOT NULL", True),
        ("t IS TRUE", True),
        ("a IN (1, 7)", True),
        ("a IN (1, NULL)", None),
        ("a NOT IN (1, 2)", True),
        ("a BETWEEN 7 AND 9", True),
        ("s LIKE 'S%ß_'", True),
        ("s LIKE 's%'", False),
        ("CASE WHEN n THEN 1 WHEN a > 3 THEN 2 ELSE 3 END", 2),
        ("CASE a WHEN 7 THEN 'seven' END", "seven"),
        ("CASE a WHEN 8 THEN 'eight' END", None),
        ("if(a > 3, s, 'no')", "Straße"),
        ("coalesce(n, b, a)", -2),
        ("nullif(a, 7)", None),
        ("nullif(a, n)", 7),
        ("1 / nullif(a - 7, 0)", None),
        ("upper(s)", "STRASSE"),
        ("lower(s) || '!'", "straße!"),
        ("concat(s, a)", "Straße7"),
        ("concat(s, n)", None),
        ("length(s)", 6),
        ("substring(s, 2, 3)", "tra"),
        ("substring(s, -2)", "ße"),
        ("round(x)", 3.0),
        ("round(2.345, 2)", Decimal("2.35")),
        ("abs(b)", 2),
        ("cast(a AS STRING)", "7"),
        ("cast('12' AS INT) + 1", 13),
        ("cast('2024-02-29' AS DATE)", date(2024, 2, 29)),
        ("cast(t AS STRING)", "true"),
        ("try_cast('x' AS INT)", None),
        ("at + INTERVAL 30 MINUTES", datetime(2024, 3, 31, 2, 0, tzinfo=UTC)),
        ("xs[1]", 2),
        ("m['k']", 1),
        ("size(xs)", 3),
        ("array_contains(xs, 2)", True),
        ("window.end", 5),
        ("window.start", None),
        ("A", 7),
        ("`größe` + 1", 4),
        ("struct(a, b)", {"a": 7, "b": -2}),
        ("named_struct('y', a)", {"y": 7}),
        ("array(a, n)", [7, None]),
        ("a AS renamed", 7),
    ],
)
def test_an_expression_means_what_spark_says(text, expected):
    result = compiled(text, SCHEMA)(ROW)
    assert result == expected
    assert type(result) is type(expected)


@pytest.mark.parametrize(
    ("text", "condition", "why", "part"),
    [
        ("1 + a / 0", "DIVIDE_BY_ZERO", "Division by zero", "a / 0"),
        ("a % 0", "REMAINDER_BY_ZERO", "Remainder by zero", "a % 0"),
        ("a div 0", "DIVIDE_BY_ZERO", "Division by zero", None),
        (
            "cast('x' AS INT)",
            "CAST_INVALID_INPUT",
            'The value \'x\' of the type "STRING" cannot be cast to "INT" because it is malformed',
            "CAST('x' AS INT)",
        ),
        ("cast('1_0' AS INT)", "CAST_INVALID_INPUT", None, None),  # which Python takes
        ("cast('1.5' AS INT)", "CAST_INVALID_INPUT", None, None),
        ("cast('3000000000' AS INT)", "CAST_INVALID_INPUT", None, None),
        ("cast('maybe' AS BOOLEAN)", "CAST_INVALID_INPUT", None, None),
        ("cast('1e' AS DOUBLE)", "CAST_INVALID_INPUT", None, None),
        ("cast('soon' AS DATE)", "CAST_INVALID_INPUT", None, None),
        ("cast(big AS INT)", "CAST_OVERFLOW", None, None),
        ("cast(x * 1e300 AS BIGINT)", "CAST_OVERFLOW", None, None),
        ("cast(a * 1000 AS DECIMAL(5, 2))", "NUMERIC_VALUE_OUT_OF_RANGE", None, None),
        ("a + 2147483647", "ARITHMETIC_OVERFLOW", "overflow", "a + 2147483647"),
        ("big + 1", "ARITHMETIC_OVERFLOW", "overflow", None),
        ("-(b - 2147483646)", "ARITHMETIC_OVERFLOW", "overflow", None),
        (
            "xs[9]",
            "INVALID_ARRAY_INDEX",
            "The index 9 is out of bounds. The array has 3 elements",
            None,
        ),
    ],
)
def test_what_spark_refuses_at_run_time_is_an_error(text, condition, why, part):
    with pytest.raises(SqlError) as caught:
        compiled(text, SCHEMA)(ROW)
    assert caught.value.condition == condition
    assert why is None or caught.value.why == why
    assert part is None or caught.value.part == part


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a = 7 OR a / 0 > 1", True),
        ("a = 8 AND a / 0 > 1", False),
        ("a IN (7, a div 0)", True),
        ("n + a / 0", None),
        ("cast('x' AS INT) / n", None),  # the divisor comes first
        ("coalesce(a, a div 0)", 7),
        ("CASE WHEN a = 7 THEN 1 ELSE a div 0 END", 1),
    ],
)
def test_what_decides_nothing_is_not_computed(text, expected):
    assert compiled(text, SCHEMA)(ROW) == expected


@pytest.mark.parametrize(
    "text",
    [
        "soundex(s)",
        "rand()",
        "my_function(a)",
        "INTERVAL 1 MONTH",
        "a > s",
        "s + 1",
        "cast(s AS BINARY)",
        "element_at(xs, 1)",
    ],
)
def test_what_the_reference_does_not_know_is_refused_before_any_row(text):
    with pytest.raises(RunError, match="MS203.*cannot compute"):
        compiled(text, SCHEMA)
