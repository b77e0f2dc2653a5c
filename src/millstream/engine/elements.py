"""What is computed from the elements themselves, where partial results would not do.

Lists, distinct values, exact quantiles and users' accumulators need every element; so does all
that is computed over a stream with retractions, which take elements back.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl

from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate, Combine


def standing(elements: pl.DataFrame) -> pl.DataFrame:
    """Elements less those that were taken back: equal ones, of one time, with opposite signs.

    What is left of them is one row each, with sign 1, or -1 where a retraction found nothing.
    """
    alike = [column for column in elements.columns if column != "sign"]
    net = elements.group_by(alike, maintain_order=True).agg(pl.col("sign").sum().cast(pl.Int64))
    repeated = net.filter(pl.col("sign") != 0).with_columns(
        copies=pl.col("sign").sign().repeat_by(pl.col("sign").abs())
    )
    return repeated.drop("sign").explode("copies").rename({"copies": "sign"})


def over_elements(aggregate: Aggregate, of: str | None, by: str | None) -> pl.Expr:
    """The aggregate over a group of standing elements."""
    sign, value = pl.col("sign"), pl.col(of) if of else pl.col("sign")
    if isinstance(aggregate, described.Count):
        return sign.filter(value.is_not_null()).sum()
    if isinstance(aggregate, described.Sum):
        return (value * sign).sum()
    there = (sign > 0) & value.is_not_null()
    present = value.filter(there)
    in_time = present.sort_by(pl.col("time").filter(there), present)
    match aggregate:
        case described.Min() | described.AnyValue():
            return present.min()
        case described.Max():
            return present.max()
        case described.Mean():
            return present.mean()
        case described.Variance():
            return present.var(ddof=1)
        case described.Stddev():
            return present.std(ddof=1)
        case described.First():
            return in_time.first()
        case described.Last():
            return in_time.last()
        case described.Collect():
            return in_time
        case described.CollectSet():
            return present.unique().sort()
        case described.CountDistinct() | described.ApproxDistinct():
            return present.n_unique()
        case described.Quantile(q=q):
            return present.cast(pl.Float64).quantile(q, "linear")
        case described.Top(n=n):
            return _top(n, value, there, pl.col(by or ""))
        case Combine():
            return in_time  # folded by `folded`, which needs Python
    raise AssertionError(aggregate)


def of_nothing(aggregate: Aggregate) -> Any:
    """The aggregate over no elements at all."""
    match aggregate:
        case described.Count() | described.Sum() | described.CountDistinct():
            return 0
        case described.ApproxDistinct():
            return 0
        case described.Collect() | described.CollectSet() | described.Top() | Combine():
            return []
    return None


def folded(combine: Combine, lists: pl.Series) -> list[Any]:
    """A user's accumulator over each list of values."""
    return [_fold(combine, values) for values in lists]


def _fold(combine: Combine, values: Sequence[Any]) -> Any:
    accumulator = combine.create()
    for value in values:
        accumulator = combine.add(accumulator, value)
    return combine.extract(accumulator)


def _top(n: int, value: pl.Expr, there: pl.Expr, by: pl.Expr) -> pl.Expr:
    ranked = there & by.is_not_null()
    order = [by.filter(ranked), value.filter(ranked)]
    return value.filter(ranked).sort_by(order, descending=[True, False]).head(n)
