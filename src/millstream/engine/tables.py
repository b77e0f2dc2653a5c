"""Small things that are done with tables everywhere."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Literal

import polars as pl


def concatenated(*tables: pl.DataFrame | None) -> pl.DataFrame | None:
    """The rows of all tables that there are; columns that one lacks are null."""
    there = [table for table in tables if table is not None]
    if len(there) < 2:
        return there[0] if there else None
    return pl.concat(there, how="diagonal_relaxed")


def rows_of(tables: Iterable[pl.DataFrame]) -> pl.DataFrame:
    """The rows of some tables; there is at least one."""
    rows = concatenated(*tables)
    assert rows is not None
    return rows


def without(table: pl.DataFrame | None, others: pl.DataFrame, on: list[str]) -> pl.DataFrame | None:
    """The rows of a table that no row of ``others`` names."""
    if table is None or not others.height:
        return table
    return table.join(others, on=on, how="anti", nulls_equal=True, maintain_order="left")


def looked_up(
    table: pl.DataFrame,
    others: pl.DataFrame,
    on: Sequence[str],
    how: Literal["left", "inner"] = "left",
) -> pl.DataFrame:
    """The rows of a table with the columns of those of ``others`` that are equal in ``on``.

    Polars compares one column that it knows to be sorted value by value, and NaN is then not equal
    to itself. With a second column it does not.
    """
    if len(on) == 1 and table.schema[on[0]].is_float():
        same = pl.lit(0, pl.Int8).alias("same")
        both = table.with_columns(same), others.with_columns(same)
        return looked_up(*both, [*on, "same"], how).drop("same")
    return table.join(others, on=list(on), how=how, nulls_equal=True, maintain_order="left")
