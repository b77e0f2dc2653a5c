"""Event times in Spark SQL: instants in microseconds, and why a row has none."""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegralType, NumericType

from millstream.model.instants import FIRST, LAST
from millstream.reference.rows import UNITS, why_no_time


def micros(column: Column, kind: DataType) -> Column:
    """An instant in microseconds; null if it is none, or outside of the years 1 to 9999."""
    if isinstance(kind, IntegralType):
        seconds = column.cast("bigint")
        inside = seconds.between(FIRST // 1_000_000, LAST // 1_000_000)
        return F.when(inside, seconds * 1_000_000)
    if isinstance(kind, NumericType):
        seconds = column.cast("double")
        instant = F.rint(seconds * 1_000_000)
        inside = instant.between(float(FIRST), float(LAST)) & ~F.isnan(seconds)
        return F.when(inside, instant.cast("bigint"))
    instant = F.unix_micros(column.cast("timestamp"))
    return F.when(instant.between(FIRST, LAST), instant)


def why_none(name: str, column: Column, kind: DataType) -> Column:
    """The reason why a row has no event time in the column of that name."""
    why = F.when(column.isNull(), F.lit(why_no_time(None)))
    if isinstance(kind, DoubleType | FloatType):
        infinite = F.isnan(column) | (F.abs(column) == float("inf"))
        why = why.when(infinite, F.lit(why_no_time(math.inf)))
    if isinstance(kind, NumericType):
        for unit in UNITS:
            inside = column.cast("double").between(float(unit.first), float(unit.last))
            why = why.when(inside, F.lit(why_no_time(unit.first)))
    return F.concat(F.lit(f"event time {name!r}: "), why.otherwise(F.lit(why_no_time(LAST))))
