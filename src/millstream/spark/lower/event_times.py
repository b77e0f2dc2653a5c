"""Event times in Spark SQL: instants in microseconds, and why a row has none."""

from __future__ import annotations

import math

from pyspark.sql import Column
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.types import DataType, DoubleType, FloatType, IntegralType, NumericType

from millstream.model.instants import FIRST, LAST
from millstream.model.time_units import UNITS, TimeUnit
from millstream.reference.rows import finer_units, why_no_time


def micros(column: Column, kind: DataType, unit: TimeUnit) -> Column:
    """An instant in microseconds; null if it is none, or outside of the years 1 to 9999."""
    factor, divisor = UNITS[unit].factor, UNITS[unit].divisor
    if isinstance(kind, IntegralType):
        number = column.cast("bigint")
        if divisor > 1:
            # Spark's div rounds towards zero, and any number of nanoseconds is inside.
            part = F.when(number % divisor < 0, 1).otherwise(0)
            return F.call_function("div", number, F.lit(divisor)) - part
        return F.when(number.between(-(-FIRST // factor), LAST // factor), number * factor)
    if isinstance(kind, NumericType):
        number = column.cast("double")
        instant = F.rint(number * factor / divisor)
        # To Spark, NaN is greater than any number, and so is outside.
        return F.when(instant.between(float(FIRST), float(LAST)), instant.cast("bigint"))
    instant = F.unix_micros(column.cast("timestamp"))
    return F.when(instant.between(FIRST, LAST), instant)


def why_none(name: str, column: Column, kind: DataType, unit: TimeUnit) -> Column:
    """The reason why a row has no event time in the column of that name."""
    why = F.when(column.isNull(), F.lit(why_no_time(None)))
    if isinstance(kind, DoubleType | FloatType):
        infinite = F.isnan(column) | (F.abs(column) == float("inf"))
        why = why.when(infinite, F.lit(why_no_time(math.inf)))
    if isinstance(kind, NumericType):
        for other in finer_units(unit):
            inside = column.cast("double").between(float(other.first), float(other.last))
            why = why.when(inside, F.lit(why_no_time(other.first, unit)))
    return F.concat(F.lit(f"event time {name!r}: "), why.otherwise(F.lit(why_no_time(LAST))))
