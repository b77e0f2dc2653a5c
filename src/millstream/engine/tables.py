"""Small things that are done with tables everywhere."""

from __future__ import annotations

from collections.abc import Iterable

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
