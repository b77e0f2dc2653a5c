"""Joins of a stream with itself, as Millstream runs them and as Spark does."""

from __future__ import annotations

from pyspark.sql import DataFrame
from pyspark.sql import functions as F  # noqa: N812 - as users call it

import millstream as ms
from benchmarks.spec import DELAY_SECONDS, Spec


def joined(left: ms.Stream, right: ms.Stream, spec: Spec) -> ms.Stream:
    """Pairs of rows of a key: a column of each."""
    keys, prices = left.select("key"), right.select("key", n="price")
    match spec.program:
        case "temporal_join":
            return keys.temporal_join(prices, on="key")
        case "window_join":
            window = ms.fixed(spec.window_seconds)
            return keys.window(window).join(prices.window(window), on="key").select("key", "n")
    return keys.interval_join(prices, on="key", between=(0, spec.join_seconds))


def native_join(left: DataFrame, right: DataFrame, spec: Spec) -> DataFrame:
    """The same by Spark's join of streams."""
    delay = f"{DELAY_SECONDS} seconds"
    first = left.selectExpr("key", "ts").withWatermark("ts", delay)
    second = right.selectExpr("key AS k", "price AS n", "ts AS t").withWatermark("t", delay)
    if spec.program == "window_join":
        size = f"{spec.window_seconds} seconds"
        first = first.select("key", F.window("ts", size).alias("w"))
        second = second.select("k", "n", F.window("t", size).alias("v"))
        return first.join(second, F.expr("key = k AND w = v")).select("key", "n")
    near = f"key = k AND t BETWEEN ts AND ts + INTERVAL {spec.join_seconds} SECONDS"
    return first.join(second, F.expr(near)).select("key", "n")
