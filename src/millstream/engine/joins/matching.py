"""Which rows of two tables meet: those with equal keys whose event times are near each other."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TypeAlias

import numpy as np
import numpy.typing as npt
import polars as pl

_Flags: TypeAlias = npt.NDArray[np.bool_]
Condition = Callable[[pl.DataFrame, pl.DataFrame], pl.Series]
"""Of left rows and as many right rows: whether each pair meets the condition of the join."""

_MANY = 4
"""How many times the interval's length the event times span where rows are joined cell by cell."""

_PLAIN = (pl.String, pl.Int8, pl.Int16, pl.Int32, pl.Int64)
"""Types of keys by which Polars finds the nearest row, and for which equal means the same."""


class Matching:
    """Finds the pairs of a left and a right row that meet.

    Keys that are null, in whatever column, equal no key.
    """

    def __init__(
        self,
        keys: Sequence[str],
        earliest: int,
        latest: int,
        condition: Condition | None = None,
    ) -> None:
        self._keys = list(keys)
        self._earliest = earliest
        self._latest = latest
        self._condition = condition

    def pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """The numbers ``l`` and ``r`` of the rows of each pair, in the order of both tables."""
        if not left.height or not right.height:
            return pl.DataFrame(schema={"l": pl.UInt32, "r": pl.UInt32})
        mine = left.select(*self._keys, "time").with_row_index("l")
        other = right.select(*self._keys, pl.col("time").alias("other")).with_row_index("r")
        on = self._keys
        if self._is_long(left["time"], right["time"]):
            mine, other, on = self._in_cells(mine, other)
        apart = pl.col("other") - pl.col("time")
        met = (
            mine.lazy()
            .join(other.lazy(), on=on, how="inner")
            .filter(apart.is_between(self._earliest, self._latest))
            .select("l", "r")
            .collect()
        )
        met = met.sort("l", "r")
        if self._condition is None or not met.height:
            return met
        return met.filter(self._condition(left[met["l"]], right[met["r"]]))

    def met(self, rows: pl.DataFrame, others: pl.DataFrame, is_left: bool) -> _Flags:
        """Of each row of one side, whether it meets any of the other side."""
        is_met = np.zeros(rows.height, np.bool_)
        if not rows.height or not others.height:
            return is_met
        if self._condition is None and all(rows[key].dtype in _PLAIN for key in self._keys):
            found = self._nearest(rows, others, is_left)
        else:
            tables = (rows, others) if is_left else (others, rows)
            found = self.pairs(*tables)["l" if is_left else "r"]
        is_met[found.to_numpy()] = True
        return is_met

    def _nearest(self, rows: pl.DataFrame, others: pl.DataFrame, is_left: bool) -> pl.Series:
        """The numbers of rows whose first other one from the start of the interval is within it.

        That takes no longer where a row meets many.
        """
        earliest = self._earliest if is_left else -self._latest
        mine = rows.select(*self._keys, first=pl.col("time") + earliest).with_row_index("number")
        times = others.select(*self._keys, pl.col("time").alias("other"))
        met = (
            mine.drop_nulls(self._keys)
            .sort("first")
            .join_asof(
                times.drop_nulls(self._keys).sort("other"),
                left_on="first",
                right_on="other",
                by=self._keys,
                strategy="forward",
                coalesce=False,
                check_sortedness=False,  # both were sorted just now
            )
        )
        near = pl.col("other") - pl.col("first") < self._length
        return met.filter(near)["number"]

    def _is_long(self, left: pl.Series, right: pl.Series) -> bool:
        """Whether most rows of a key are too far apart to meet."""
        times = pl.concat([left, right])
        first, last = pl.select(first=times.min(), last=times.max()).row(0)
        return bool(last - first > _MANY * self._length)

    @property
    def _length(self) -> int:
        return self._latest - self._earliest + 1

    def _in_cells(
        self, left: pl.DataFrame, right: pl.DataFrame
    ) -> tuple[pl.DataFrame, pl.DataFrame, list[str]]:
        """The rows with the cells of time in which they meet: of a left row there are up to two.

        A cell is as long as the interval, so that a key's rows are compared with few others.
        """
        first = (pl.col("time") + self._earliest) // self._length
        last = (pl.col("time") + self._latest) // self._length
        both = [left.with_columns(cell=first), left.filter(first != last).with_columns(cell=last)]
        cell = pl.col("other") // self._length
        return pl.concat(both), right.with_columns(cell=cell), [*self._keys, "cell"]
