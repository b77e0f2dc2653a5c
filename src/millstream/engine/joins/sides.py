"""The rows of both sides of a join, as they arrive, wait and are late."""

from __future__ import annotations

import polars as pl

from millstream.engine.operator import LATE, Outputs
from millstream.engine.row_order import in_row_order
from millstream.model.instants import END_OF_TIME, START_OF_TIME

VALUES, OTHER = "values", "other"
"""The columns of a pair that hold the left row and the right one, as structs."""


def closed_at(watermark: int, behind: int) -> int:
    """The time before which nothing is accepted, which runs ``behind`` the watermark."""
    return END_OF_TIME if watermark >= END_OF_TIME else max(watermark - behind, START_OF_TIME)


def accepted(
    batch: pl.DataFrame | None, side: str, closed: int, outputs: Outputs
) -> pl.DataFrame | None:
    """The rows of a side in their order, less those that are late, which are emitted as such."""
    if batch is None or not batch.height:
        return None
    rows = in_row_order(batch)
    is_late = rows["time"] < closed
    if is_late.any():
        outputs[LATE].append(rows.filter(is_late).with_columns(side=pl.lit(side)))
        rows = rows.filter(~is_late)
    return rows if rows.height else None
