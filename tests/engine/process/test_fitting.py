"""Columns of a user's tables are held to the types that were declared."""

from __future__ import annotations

from datetime import UTC, datetime
from types import SimpleNamespace

import polars as pl
import pytest

from millstream.engine.process.fitting import fitted
from millstream.model.errors import RunError

WHAT = SimpleNamespace(step="totals")


def column(values, type, name="n"):
    return fitted(pl.DataFrame({name: values}), "n", type, "what emit() is given", WHAT)


@pytest.mark.parametrize(
    ("values", "type", "expected"),
    [
        ([1, None], pl.Int64, [1, None]),
        ([1, 2], pl.Int32, [1, 2]),
        ([1], pl.Float64, [1.0]),
        ([None], pl.String, [None]),
        (
            [datetime(2026, 1, 1, tzinfo=UTC)],
            pl.Datetime("ms", "UTC"),
            [datetime(2026, 1, 1, tzinfo=UTC)],
        ),
    ],
)
def test_a_value_that_stays_what_it_is_is_converted(values, type, expected):
    made = column(values, type)
    assert (made.dtype, made.to_list()) == (type, expected)


@pytest.mark.parametrize(
    ("values", "type", "why"),
    [
        ([1.5], pl.Int64, "is Float64, and is declared as Int64: and is not converted"),
        (["1"], pl.Int64, "is String, and is declared as Int64"),
        ([1], pl.String, "is Int64, and is declared as String"),
        ([2**40], pl.Int32, "is Int64, and is declared as Int32: conversion"),
    ],
)
def test_a_value_that_would_become_another_is_refused(values, type, why):
    with pytest.raises(
        RunError, match=f"MS202 in step 'totals': column 'n' of what emit.. .*{why}"
    ):
        column(values, type)


def test_a_column_that_is_missing_is_named_with_those_that_are_there():
    with pytest.raises(RunError, match="MS202 .*has no column 'n'; its columns are m"):
        column([1], pl.Int64, name="m")
