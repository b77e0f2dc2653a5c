"""Event times in Spark SQL are those of the engine, and rows without one have the same reasons."""

from __future__ import annotations

from datetime import date, datetime
from typing import get_args

import polars as pl
import pytest
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.engine.rows import micros_of, timed, with_time
from millstream.model.time_units import TimeUnit
from millstream.spark.lower.event_times import micros, why_none

CASES = {
    "bigint": [0, -1, 1_700_000_000, 253_402_300_799, 253_402_300_800, 1_700_000_000_000, None],
    "double": [0.0, 0.0000015, -1.5, 1.7e9, 1.7e12, 1.7e18, float("nan"), float("inf"), None],
    "timestamp": [datetime(1970, 1, 1, 0, 0, 1), datetime(9999, 12, 31), None],
    "date": [date(1970, 1, 2), date(1, 1, 1), None],
}


@pytest.mark.parametrize("kind", CASES)
def test_instants_and_reasons_are_those_of_the_engine_in_all_units(spark, kind):
    frame = spark.createDataFrame([(value,) for value in CASES[kind]], f"at {kind}").coalesce(1)
    type_ = frame.schema["at"].dataType
    units = get_args(TimeUnit)
    found = frame.select(
        *(micros(F.col("at"), type_, unit).alias(f"micros {unit}") for unit in units),
        *(why_none("at", F.col("at"), type_, unit).alias(f"why {unit}") for unit in units),
    ).collect()
    given = pl.from_arrow(frame.toArrow())
    for unit in units:
        instants = [row[f"micros {unit}"] for row in found]
        assert instants == micros_of(given["at"], unit).to_list(), unit
        _, bad = timed(with_time(given), "times", "at", unit)
        assert bad is not None
        reasons = [row[f"why {unit}"] for row in found if row[f"micros {unit}"] is None]
        assert reasons == bad["reason"].to_list(), unit
