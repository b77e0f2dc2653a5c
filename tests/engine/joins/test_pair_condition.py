"""The further condition of a join: true, false or null of each pair, and picklable."""

from __future__ import annotations

import pickle

import polars as pl
import pytest

from millstream.engine.joins.pair_condition import PairCondition
from millstream.model.errors import RunError
from millstream.plan.operators.two_sides import PairColumn
from millstream.plan.sql.expressions import scalar
from millstream.plan.types.schema import Schema

SCHEMA = Schema.of("k string, a int, b int")
COLUMNS = PairColumn("k", "k", "k"), PairColumn("a", "a", None), PairColumn("b", None, "b")


def condition(text):
    return PairCondition("join", scalar(text, SCHEMA), SCHEMA, COLUMNS)


def side(**columns):
    return pl.select(values=pl.struct(**{n: pl.Series(c) for n, c in columns.items()}))


LEFT = side(k=["x"] * 4, a=[1, 2, 2, None])
RIGHT = side(k=["x"] * 4, b=[2, 1, 1, 1])


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("a < b", [True, False, False, False]),
        ("a < b OR k = 'x'", [True] * 4),
        ("a IS NULL", [False, False, False, True]),
        ("1 > 2", [False] * 4),
    ],
)
def test_it_is_true_of_the_pairs_for_which_the_reference_says_so(text, expected):
    assert condition(text)(LEFT, RIGHT).to_list() == expected


def test_it_travels_without_what_is_compiled():
    here = condition("a < b")
    assert here.compute({"k": "x", "a": 1, "b": 2}) is True
    there = pickle.loads(pickle.dumps(here))
    assert "compute" not in vars(there)
    assert there(LEFT, RIGHT).to_list() == [True, False, False, False]


def test_an_error_names_the_condition_and_the_step():
    with pytest.raises(RunError, match=r"MS219 in step 'join': where=, a / \(b - 1\) = 1"):
        condition("a / (b - 1) = 1")(LEFT, RIGHT)
