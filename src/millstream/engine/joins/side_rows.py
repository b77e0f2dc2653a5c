"""The rows of one side of a join in a step: those that there were, came, and were taken back."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from millstream.engine.exchange.hashing import fingerprints
from millstream.engine.joins.sides import VALUES
from millstream.engine.tables import rows_of


@dataclass(frozen=True, slots=True)
class SideRows:
    """The rows that stay, those that are added, and those that are removed."""

    kept: pl.DataFrame
    added: pl.DataFrame
    removed: pl.DataFrame

    @property
    def before(self) -> pl.DataFrame:
        """All rows that there were."""
        return _both(self.kept, self.removed)

    @property
    def after(self) -> pl.DataFrame:
        """All rows that there are now."""
        return _both(self.kept, self.added)


def changed(
    held: pl.DataFrame | None, arrived: pl.DataFrame | None, keys: Sequence[str], retracted: bool
) -> SideRows | None:
    """What a step changes; a row that it adds and takes back is no change. None if there is none.

    Rows that are taken back are held as rows of the sign -1, beside those that they take back.
    """
    given = [table for table in (held, arrived) if table is not None]
    if not given:
        return None
    nothing = given[0].clear()
    old = nothing if held is None else held
    new = nothing if arrived is None else arrived
    if not retracted:
        return SideRows(old, new, nothing)
    rows = rows_of([old.with_columns(came=False), new.with_columns(came=True)])
    identity = [*keys, "time", "fingerprint"]
    rows = rows.with_columns(fingerprints(rows[VALUES]).alias("fingerprint"))
    counted = rows.group_by(identity, maintain_order=True).agg(
        pl.all().exclude("sign", "came").first(),
        before=pl.col("sign").filter(~pl.col("came")).sum().clip(0),
        after=pl.col("sign").sum().clip(0),
    )
    stay = pl.min_horizontal("before", "after")
    return SideRows(
        _times(counted, stay, old),
        _times(counted, pl.col("after") - stay, old),
        _times(counted, pl.col("before") - stay, old),
    )


def _times(rows: pl.DataFrame, count: pl.Expr, like: pl.DataFrame) -> pl.DataFrame:
    """Each row so many times, with the columns of another table."""
    some = rows.with_columns(count=count).filter(pl.col("count") > 0)
    times = pl.int_range(pl.len(), dtype=pl.UInt32).repeat_by("count").explode()
    if some["count"].max() not in (None, 1):
        some = some[some.select(times).to_series()]
    return some.with_columns(sign=pl.lit(1, pl.Int64)).select(like.columns)


def _both(one: pl.DataFrame, other: pl.DataFrame) -> pl.DataFrame:
    return rows_of([each for each in (one, other) if each.height] or [one])
