"""What is computed from the elements themselves, where partial results would not do.

Lists, distinct values, exact quantiles and users' accumulators need every element; so does all
that is computed over a stream with retractions, which take elements back.
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.grouping.accumulators import Accumulator
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.types import arrow_type
from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate, Combine
from millstream.reference.aggregates import fold, misfit, promised_type


@dataclass(frozen=True)
class Gathered(described.Collect):
    """All values in any order, for results that do not show it."""


def remaining(elements: pl.DataFrame) -> pl.DataFrame:
    """Elements less those that were taken back: equal ones, of one time, with opposite signs.

    What is left of them is one row each, with sign 1, or -1 where a retraction found nothing.
    """
    if (elements["sign"] > 0).all():
        return elements
    alike = [column for column in elements.columns if column != "sign"]
    net = elements.group_by(alike, maintain_order=True).agg(pl.col("sign").sum().cast(pl.Int64))
    repeated = net.filter(pl.col("sign") != 0).with_columns(
        copies=pl.col("sign").sign().repeat_by(pl.col("sign").abs())
    )
    return repeated.drop("sign").explode("copies").rename({"copies": "sign"})


def with_accumulators(
    elements: pl.DataFrame, folding: Iterable[tuple[Aggregated, Accumulator]]
) -> pl.DataFrame:
    """The remaining elements with the accumulators of each.

    Retractions that took nothing back count negatively in sums and counts; other aggregates do not
    see them.
    """
    sign = pl.col("sign")
    for a, folder in folding:
        if a.aggregate.additive:
            elements = elements.with_columns(folder.of_element())
            elements = elements.with_columns(pl.col(column) * sign for column in folder.columns())
        else:
            seen = pl.when(sign > 0).then(pl.col(a.of or "")).alias(a.of or "")
            elements = elements.hstack(elements.with_columns(seen).select(folder.of_element()))
    return elements


def over_elements(aggregate: Aggregate, of: str | None, by: str | None) -> pl.Expr:
    """The aggregate over a group of remaining elements."""
    value = pl.col(of or "")
    there = (pl.col("sign") > 0) & value.is_not_null()
    present = value.filter(there)
    in_time = present.sort_by(pl.col("time").filter(there), present)
    match aggregate:
        case Gathered():
            return present
        case described.Collect():
            return in_time
        case described.CollectSet():
            return present.unique().sort()
        case described.CountDistinct():
            return present.n_unique().cast(pl.Int64)
        case described.Quantile(q=q):
            return _quantile(present.cast(pl.Float64), q)
        case described.Top(n=n):
            return _top(n, value, there, pl.col(by or ""))
        case Combine():
            return in_time  # folded by `folded`, which needs Python
    raise AssertionError(aggregate)


def of_nothing(aggregate: Aggregate) -> Any:
    """What ``over_elements`` is where there are none."""
    match aggregate:
        case described.CountDistinct():
            return 0
        case described.Quantile():
            return None
    return []


def folded(combine: Combine, lists: pl.Series) -> pl.Series:
    """A user's accumulator over each list of values, in the type that it promises."""
    results = [fold(combine, values) for values in lists.to_list()]
    try:
        column = pa.array(results, arrow_type(promised_type(combine.returns)))
    except (pa.ArrowException, OverflowError) as error:  # of a type that only Spark knows
        raise misfit(combine, str(error)) from error
    return pl.Series(lists.name, column)


def _quantile(numbers: pl.Expr, q: float) -> pl.Expr:
    """Interpolated as Spark does: neighbours that are infinite have no distance to take part of."""
    below, above = numbers.quantile(q, "lower"), numbers.quantile(q, "higher")
    position = (numbers.len().cast(pl.Int64) - 1) * q
    share = position - position.floor()
    between = below * (1 - share) + above * share
    return pl.when((share == 0) | (below == above)).then(below).otherwise(between)


def _top(n: int, value: pl.Expr, there: pl.Expr, by: pl.Expr) -> pl.Expr:
    ranked = there & by.is_not_null()
    order = [by.filter(ranked), value.filter(ranked)]
    return value.filter(ranked).sort_by(order, descending=[True, False]).head(n)
