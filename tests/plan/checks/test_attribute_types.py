"""MS123: a delta window needs numbers, and a punctuated one a condition."""

from __future__ import annotations

from decimal import Decimal

import pytest

import millstream as ms

ROWS = ms.from_rows([], schema="k string, n int, ok boolean, at timestamp", event_time="at")


@pytest.mark.parametrize("column", ["k", "ok", "at", "upper(k)"])
def test_a_delta_window_of_something_else_than_numbers_is_refused(column: str) -> None:
    with pytest.raises(ms.PlanError, match="MS123.*which is no number") as caught:
        ROWS.window(ms.delta_window(column, 1)).aggregate(n=ms.count())
    assert caught.value.step == "aggregate-1"


@pytest.mark.parametrize("condition", ["k", "n", "n + 1"])
def test_a_punctuated_window_of_something_else_than_a_condition_is_refused(condition: str) -> None:
    with pytest.raises(ms.PlanError, match="MS123.*which is no condition"):
        ROWS.window(ms.punctuated_window(condition)).aggregate(n=ms.count())


def test_expressions_of_the_type_that_a_window_needs_pass() -> None:
    ROWS.window(ms.delta_window("n * 2", 0.5)).aggregate(n=ms.count())
    ROWS.window(ms.punctuated_window("ok")).aggregate(n=ms.count())
    ROWS.window(ms.punctuated_window("n > 3 AND k = 'a'")).aggregate(n=ms.count())


def test_a_column_that_is_not_there_is_named() -> None:
    with pytest.raises(ms.PlanError, match="MS102"):
        ROWS.window(ms.delta_window("degrees", 1)).aggregate(n=ms.count())


@pytest.mark.parametrize("threshold", [0, -1, float("nan"), float("inf"), "1", None, True])
def test_a_threshold_is_a_number_above_zero(threshold: object) -> None:
    with pytest.raises(ms.PlanError, match="MS123.*above zero"):
        ms.delta_window("n", threshold)  # type: ignore[arg-type]


@pytest.mark.parametrize("column", ["", 3, None])
def test_what_windows_depend_on_is_sql(column: object) -> None:
    with pytest.raises(ms.PlanError, match="MS123"):
        ms.delta_window(column, 1)  # type: ignore[arg-type]
    with pytest.raises(ms.PlanError, match="MS123"):
        ms.punctuated_window(column)  # type: ignore[arg-type]


def test_a_threshold_may_be_a_decimal_as_its_column_is() -> None:
    assert ms.delta_window("price", Decimal("0.5")) == ms.delta_window("price", 0.5)
