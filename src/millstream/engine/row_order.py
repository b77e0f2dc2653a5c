"""The order of rows, where that counts: the same whenever a step is repeated."""

from __future__ import annotations

import polars as pl

ORDER = ("time", "origin", "split", "offset")
"""By event time, then by where a row came from: a source or operator, its split, the offset there.
"""


def in_row_order(rows: pl.DataFrame) -> pl.DataFrame:
    """The rows in that order.

    As a rule rows are of one split, and in order already: texts are slow to compare.
    """
    places = [name for name in ("origin", "split") if rows[name].n_unique() > 1]
    if not places and rows["time"].is_sorted() and rows["offset"].is_sorted():
        return rows
    return rows.sort("time", *places, "offset", maintain_order=True)
