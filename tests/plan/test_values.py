"""Which Python values fit which Spark types."""

from __future__ import annotations

import re
from collections import OrderedDict
from datetime import UTC, date, datetime, timedelta, timezone
from decimal import Decimal
from typing import Any

import pytest

import millstream as ms
from millstream.plan.types.values import MisfitError, keeping, python_values

NOON = datetime(2024, 5, 1, 12)
DAY = date(2024, 5, 1)

FITTING: list[tuple[str | None, Any]] = [
    *((type, 5) for type in ("TINYINT", "SMALLINT", "INT", "BIGINT", "FLOAT", "DOUBLE")),
    ("TINYINT", -128),
    ("SMALLINT", 2**15 - 1),
    ("INT", -(2**31)),
    ("BIGINT", 2**63 - 1),
    ("DOUBLE", float("nan")),
    ("DECIMAL(10, 2)", Decimal("1.5")),
    ("DECIMAL(10, 2)", 1),
    ("DECIMAL(10, 2)", Decimal("99999999.99000")),
    ("DECIMAL(10, 2)", Decimal("1E+7")),
    ("DECIMAL(38, 38)", Decimal("1E-38")),
    ("FLOAT", float("-inf")),
    ("STRING", "ann"),
    ("STRING", "ünï 😀"),
    ("VARCHAR(9)", "ann"),
    ("CHAR(3)", "ann"),
    ("BOOLEAN", True),
    ("BINARY", b"ann"),
    ("BINARY", bytearray(b"ann")),
    ("TIMESTAMP", NOON.replace(tzinfo=UTC)),
    ("TIMESTAMP_NTZ", NOON),
    ("DATE", DAY),
    ("ARRAY<INT>", [1, None]),
    ("ARRAY<ARRAY<STRING>>", [["a"], []]),
    ("MAP<STRING, ARRAY<INT>>", {"a": [1]}),
    ("STRUCT<a: INT, b: MAP<STRING, DOUBLE>>", {"a": 1, "b": {"x": 1.5}}),
    ("STRUCT<`total points`: INT>", {"total points": 1}),
    ("VARIANT", object),
    ("INTERVAL DAY TO SECOND", 5),
    (None, object),
]
MISFITS = [
    ("TINYINT", 128),
    ("SMALLINT", -(2**15) - 1),
    ("INT", 2**31),
    ("BIGINT", 2**63),
    ("INT", True),
    ("INT", 1.0),
    ("INT", "1"),
    ("INT", Decimal(1)),
    ("DOUBLE", "1.5"),
    ("DOUBLE", True),
    ("DOUBLE", Decimal("1.5")),
    ("DECIMAL(10, 2)", 1.5),
    ("ARRAY<DECIMAL(10, 2)>", [Decimal("1.234")]),
    ("STRING", 1),
    ("STRING", b"ann"),
    ("BOOLEAN", 1),
    ("BINARY", "ann"),
    ("TIMESTAMP", DAY),
    ("TIMESTAMP", 10.0),
    ("TIMESTAMP_NTZ", "2024-05-01"),
    ("DATE", NOON),
    ("ARRAY<INT>", "12"),
    ("ARRAY<INT>", [1, "2"]),
    ("MAP<STRING, INT>", {"a": "b"}),
    ("MAP<STRING, INT>", {1: 1}),
    ("MAP<STRING, INT>", [("a", 1)]),
    ("STRUCT<a: INT>", {"a": "1"}),
    ("STRUCT<a: INT>", {"a": 1, "b": 2}),
    ("STRUCT<a: INT, b: INT>", {"a": 1}),
    ("STRUCT<a: INT>", (1,)),
]


def test_a_timestamp_without_a_zone_is_in_utc() -> None:
    assert keeping("TIMESTAMP")(NOON) == NOON.replace(tzinfo=UTC)


@pytest.mark.parametrize(("type", "value"), FITTING)
def test_a_value_that_fits_is_kept_and_so_is_null(type: str | None, value: Any) -> None:
    kept = keeping(type)(value)
    assert kept is value or kept == value
    assert keeping(type)(None) is None


@pytest.mark.parametrize(("type", "value"), MISFITS)
def test_another_value_is_refused_and_what_would_fit_can_be_said(type: str, value: Any) -> None:
    with pytest.raises(MisfitError):
        keeping(type)(value)
    assert python_values(type)


@pytest.mark.parametrize(
    ("type", "value", "why"),
    [
        ("DECIMAL(10, 2)", Decimal("1.234"), "would lose digits, so round it: round(value, 2)"),
        ("DECIMAL(10, 2)", Decimal("1E-9999999"), "would lose digits"),
        ("DECIMAL(10, 2)", Decimal("-100000000"), "has more than 8 digits before the point"),
        ("DECIMAL(10, 2)", 10**400, "has more than 8 digits before the point"),
        ("DECIMAL(10, 2)", Decimal("NaN"), "is not finite"),
        ("DECIMAL(10, 2)", Decimal("-Infinity"), "is not finite"),
        ("DOUBLE", 10**400, "is too large"),
        ("FLOAT", 1e39, "is too large"),
        ("FLOAT", 10**400, "is too large"),
        ("STRING", "half \ud83d", "has half of a surrogate pair"),
        ("MAP<STRING, INT>", {"a": 1, None: 2}, "no key of a MAP may be None"),
        ("TIMESTAMP", datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=5))), "years 1 to 9999"),
    ],
)
def test_what_the_kind_of_a_value_does_not_tell_is_said(type: str, value: Any, why: str) -> None:
    with pytest.raises(MisfitError, match=re.escape(why)):
        keeping(type)(value)


def test_numbers_are_kept_as_spark_keeps_them() -> None:
    kept = {
        "Decimal('1.50')": keeping("DECIMAL(10, 2)")(Decimal("1.5")),
        "Decimal('3.00')": keeping("DECIMAL(10, 2)")(3),
        "Decimal('0.00')": keeping("DECIMAL(10, 2)")(Decimal("-0")),
        "5.0": keeping("DOUBLE")(5),
        str(2.0**60): keeping("DOUBLE")(2**60 + 1),
        str(2.0**24): keeping("FLOAT")(2**24 + 1),
        "0.10000000149011612": keeping("FLOAT")(0.1),
    }
    assert {text: repr(value) for text, value in kept.items()} == {text: text for text in kept}


def test_nested_values_are_kept_in_one_form() -> None:
    assert keeping("ARRAY<ARRAY<INT>>")(((1, 2), [3])) == [[1, 2], [3]]
    assert type(keeping("MAP<STRING, INT>")(OrderedDict(a=1))) is dict


def test_a_row_that_does_not_fit_is_named_with_its_column_its_value_and_what_to_give() -> None:
    with pytest.raises(ms.RunError) as caught:
        ms.from_rows([("ann", 3), ("bob", "three")], schema="user string, points int")
    assert str(caught.value) == (
        "MS202 in step 'rows-1': row 1 has 'three' in column 'points', which does not fit INT\n"
        "  What to do: give an int from -2147483648 to 2147483647, or None, or another type in the "
        "schema\n"
        "  More: millstream help MS202"
    )


def test_a_decimal_that_would_lose_digits_is_refused_with_what_to_give() -> None:
    with pytest.raises(ms.RunError) as caught:
        ms.from_rows([(Decimal("2.3681"),)], schema="p decimal(10, 2)")
    assert str(caught.value) == (
        "MS202 in step 'rows-1': row 0 has Decimal('2.3681') in column 'p', which does not fit "
        "DECIMAL(10, 2): it would lose digits, so round it: round(value, 2)\n"
        "  What to do: give a Decimal or an int with at most 8 digits before the point and 2 after "
        "it, or None, or another type in the schema\n"
        "  More: millstream help MS202"
    )
