"""Schemas: read from DDL text and from Python's types, compared and printed."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import date, datetime
from decimal import Decimal
from typing import Annotated, NamedTuple, Optional, TypedDict

import pytest

from millstream.model.errors import PlanError
from millstream.plan.types.schema import Field, Schema


def types(given: object) -> list[str | None]:
    return [field.type for field in Schema.of(given)]


def refusal(given: object) -> PlanError:
    with pytest.raises(PlanError) as caught:
        Schema.of(given)
    assert caught.value.code == "MS111"
    return caught.value


def test_ddl_text_gives_names_and_canonical_types() -> None:
    assert Schema.of("user string, points int, at timestamp") == Schema(
        (Field("user", "STRING"), Field("points", "INT"), Field("at", "TIMESTAMP"))
    )


@pytest.mark.parametrize(
    ("written", "canonical"),
    [
        ("BigInt", "BIGINT"),
        ("long", "BIGINT"),
        ("short", "SMALLINT"),
        ("byte", "TINYINT"),
        ("real", "FLOAT"),
        ("timestamp_ltz", "TIMESTAMP"),
        ("timestamp_ntz", "TIMESTAMP_NTZ"),
        ("decimal", "DECIMAL(10, 0)"),
        ("dec(12)", "DECIMAL(12, 0)"),
        ("numeric(5,2)", "DECIMAL(5, 2)"),
        ("array<array<int>>", "ARRAY<ARRAY<INT>>"),
        ("map<string,struct<a:int,b:decimal>>", "MAP<STRING, STRUCT<a: INT, b: DECIMAL(10, 0)>>"),
        ("struct<start timestamp, end timestamp>", "STRUCT<start: TIMESTAMP, end: TIMESTAMP>"),
        ("struct<`a b`: int NOT NULL COMMENT 'x'>", "STRUCT<`a b`: INT>"),
        ("struct<`index`: int>", "STRUCT<index: INT>"),
        ("string NOT NULL COMMENT 'a, b'", "STRING"),
        ("string COMMENT 'x' NOT NULL", "STRING"),
    ],
)
def test_a_type_has_one_canonical_form(written: str, canonical: str) -> None:
    assert types(f"c {written}") == [canonical]


def test_types_with_commas_and_brackets_do_not_split_columns() -> None:
    schema = Schema.of("a map<string, decimal(10, 2)>, b: int, c struct<x: int, y: int>")
    assert schema.names == ("a", "b", "c")


@pytest.mark.parametrize("name", ["select", "end", "timestamp", "ключ", "día", "数", "1a", "_"])
def test_any_word_can_name_a_column(name: str) -> None:
    assert Schema.of(f"{name} int").names == (name,)


def test_backquoted_names_may_hold_anything() -> None:
    schema = Schema.of("`total points` int, `a``b` int, `x,y` int, `c.d` int")
    assert schema.names == ("total points", "a`b", "x,y", "c.d")


def test_a_printed_schema_reads_back_as_itself() -> None:
    schema = Schema.of(
        "`a b` array<struct<`c d`: int>>, ключ decimal(3,1), select int, `x``y` date"
    )
    assert Schema.of(str(schema)) == schema


@pytest.mark.parametrize(
    ("text", "says"),
    [
        ("", "no columns"),
        ("   ", "no columns"),
        ("user", "column 'user' has no type"),
        ("user string,", "a column name is missing"),
        (", user string", "a column name is missing"),
        ("'user' string", "a column name is missing"),
        ("user 'string", "cannot be read"),
        ("user string points int", "column 'user': 'string points int' is not a Spark type"),
        ("points itn", "column 'points': 'itn' is not a Spark type"),
        ("p array<itn>", "'array<itn>' is not a Spark type"),
        ("p array", "'array' is not a Spark type"),
        ("p map<string>", "not a Spark type"),
        ("p struct<>", "not a Spark type"),
        ("p datetime", "not a Spark type"),
        ("p int default 3", "not a Spark type"),
        ("p int primary key", "not a Spark type"),
        ("a int, b int, a int", "'a' and 'a'"),
        ("user int, User int", "'user' and 'User'"),
    ],
)
def test_unreadable_ddl_is_refused_with_its_reason(text: str, says: str) -> None:
    assert says in refusal(text).what


def test_a_mistyped_type_gets_a_suggestion() -> None:
    assert refusal("points itn").fix.startswith("did you mean 'INT'?")
    assert refusal("p array<strng>").fix.startswith("did you mean 'STRING'?")


@dataclass
class Place:
    city: str
    tags: list[str]


@dataclass
class Visit:
    user: str
    points: int
    ratio: float
    seen: bool
    raw: bytes
    at: datetime
    day: date
    price: Decimal
    place: Place
    counts: dict[str, int]
    maybe: int | None
    other: Optional[str]  # noqa: UP045 - both spellings are read
    noted: Annotated[int, "a note"]
    pair: tuple[float, ...]


def test_a_dataclass_is_a_schema() -> None:
    assert types(Visit) == [
        "STRING", "BIGINT", "DOUBLE", "BOOLEAN", "BINARY", "TIMESTAMP", "DATE", "DECIMAL(38, 18)",
        "STRUCT<city: STRING, tags: ARRAY<STRING>>", "MAP<STRING, BIGINT>", "BIGINT", "STRING",
        "BIGINT", "ARRAY<DOUBLE>",
    ]  # fmt: skip


def test_typed_dicts_named_tuples_and_mappings_are_schemas() -> None:
    class AsDict(TypedDict):
        user: str

    class AsTuple(NamedTuple):
        user: str

    for given in (AsDict, AsTuple, {"user": str}, {"user": "string"}):
        assert Schema.of(given) == Schema((Field("user", "STRING"),))


def test_a_schema_is_a_schema_already() -> None:
    schema = Schema.of("a int")
    assert Schema.of(schema) is schema


@pytest.mark.parametrize(
    "given",
    [5, None, dict, int, Place("x", []), {}, {"a": object}, {"a": int | str}, {1: int},
     {"a": list}, {"a": tuple[int, str]}, {"": int}, {"a": complex}],
)  # fmt: skip
def test_what_is_no_schema_is_refused(given: object) -> None:
    refusal(given)


def test_hints_that_name_nothing_are_refused() -> None:
    @dataclass
    class Broken:
        at: Missing  # type: ignore[name-defined]  # noqa: F821

    assert "Missing" in refusal(Broken).what


def test_a_name_is_matched_exactly_before_it_is_matched_without_case() -> None:
    schema = Schema.of("User string, points int")
    assert schema.resolve("User").name == "User"
    assert schema.resolve("uSER").name == "User"
    assert schema.find("nobody") is None


def test_an_unknown_column_gets_a_suggestion() -> None:
    with pytest.raises(PlanError) as caught:
        Schema.of("user string, points int").resolve("pionts")
    assert caught.value.code == "MS102"
    assert caught.value.fix == "did you mean 'points'? There are: user, points"


def test_added_fields_replace_those_of_the_same_name_in_place() -> None:
    schema = Schema.of("a int, B int").with_fields((Field("b", "STRING"), Field("c", "DATE")))
    assert str(schema) == "a INT, b STRING, c DATE"


def test_an_unknown_type_is_printed_as_a_question() -> None:
    assert str(Schema((Field("a", None),))) == "a ?"


def test_names_that_millstream_keeps_for_itself_are_refused() -> None:
    with pytest.raises(PlanError, match="MS111: names that begin with '__millstream_'"):
        Schema.of("__Millstream_time bigint, n int")


@pytest.mark.parametrize(
    ("written", "meant"),
    [("datetime", "TIMESTAMP"), ("array<datetime>", "TIMESTAMP"), ("uuid", "STRING")],
)
def test_types_of_other_systems_are_told_by_what_they_mean(written: str, meant: str) -> None:
    with pytest.raises(PlanError, match="MS111") as caught:
        Schema.of(f"at {written}")
    assert caught.value.fix.startswith(f"did you mean {meant!r}?")
