"""Rows as programs write them."""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass
from typing import Any, NamedTuple

import pytest

import millstream as ms
from millstream.plan.nodes import RowsSource
from millstream.plan.types.schema import Schema

SCHEMA = "user string, points int"


@dataclass
class Score:
    user: str
    points: int


@dataclass
class Game:
    best: Score


class Pair(NamedTuple):
    user: str
    points: int


def rows(given: Any, schema: Any = SCHEMA) -> tuple[dict[str, Any], ...]:
    node = ms.from_rows(given, schema=schema).node
    assert isinstance(node, RowsSource)
    return node.rows


@pytest.mark.parametrize(
    "row",
    [
        {"points": 3, "user": "ann"},
        OrderedDict(user="ann", points=3),
        ("ann", 3),
        ["ann", 3],
        Score("ann", 3),
        Pair("ann", 3),
    ],
)
def test_rows_may_be_dicts_tuples_or_dataclass_instances(row: Any) -> None:
    (read,) = rows([row])
    assert list(read.items()) == [("user", "ann"), ("points", 3)]


def test_any_iterable_of_rows_will_do() -> None:
    assert len(rows(("ann", n) for n in range(3))) == 3


@pytest.mark.parametrize("row", [Score("ann", 3), Pair("ann", 3)])
def test_rows_with_type_hints_bring_their_schema(row: Any) -> None:
    assert ms.from_rows([row]).schema == Schema.of("user string, points bigint")


@pytest.mark.parametrize("best", [Score("ann", 3), Pair("ann", 3), {"user": "ann", "points": 3}])
def test_records_inside_of_rows_become_structs(best: Any) -> None:
    wanted = {"best": {"user": "ann", "points": 3}}
    assert rows([Game(best)], schema=None) == (wanted,)
    assert rows([(best,)], schema=Schema.of(Game)) == (wanted,)
    assert rows([([best],)], schema={"all": list[Score]}) == ({"all": [wanted["best"]]},)


@pytest.mark.parametrize("given", [[], [{"user": "ann"}], [("ann", 3)], [5]])
def test_rows_that_say_no_schema_need_one(given: Any) -> None:
    with pytest.raises(ms.PlanError, match="MS111 in step 'rows-1': nothing says what columns"):
        ms.from_rows(given)


@pytest.mark.parametrize(
    ("row", "says"),
    [
        ({"user": "ann"}, "row 1 has no column 'points'"),
        ({"user": "ann", "points": 3, "team": "red"}, "row 1 has a column 'team' too many"),
        ({"user": "ann", "Points": 3}, "row 1 has no column 'points'"),
        (("ann",), "row 1 is ('ann',), 1 value, which is no row of the schema user STRING"),
        (("ann", 3, 4), "3 values"),
        (("ann", "three"), "row 1 has 'three' in column 'points', which does not fit INT"),
        ({"user": 3, "points": 3}, "row 1 has 3 in column 'user', which does not fit STRING"),
        (5, "row 1 is 5"),
        (None, "row 1 is None"),
        ("ab", "row 1 is 'ab'"),
        (Score, "row 1 is <class"),
    ],
)
def test_a_row_of_another_shape_is_refused_with_its_place(row: Any, says: str) -> None:
    with pytest.raises(ms.RunError) as caught:
        ms.from_rows([("ann", 3), row], schema=SCHEMA, name="scores")
    assert (caught.value.code, caught.value.step) == ("MS202", "scores")
    assert says in caught.value.what


def test_a_bad_schema_is_refused_in_its_step() -> None:
    with pytest.raises(ms.PlanError, match="MS111 in step 'scores': column 'user'"):
        ms.from_rows([], schema="user strin", name="scores")
