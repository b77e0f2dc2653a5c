"""The queries of Nexmark in Spark's own Structured Streaming, where they can be written there."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as users call it

DOLLARS = "CAST(0.908 * price AS DECIMAL(23, 3)) AS price"
CHANNEL_ID = "(&|^)channel_id=([^&]*)"

CANNOT = {
    "q4": "Spark takes no aggregate of an aggregate that is not in windows",
    "q6": "Spark takes no aggregate of the winning bids, which change",
    "q9": "Spark has no row_number() over a stream",
    "q15": "Spark counts no distinct values in a stream",
    "q16": "Spark counts no distinct values in a stream",
}
"""Why a query cannot be written."""


@dataclass(frozen=True)
class Native:
    """The streams as DataFrames, with watermarks."""

    person: DataFrame
    auction: DataFrame
    bid: DataFrame

    @property
    def spark(self) -> SparkSession:
        """The session of all."""
        return self.bid.sparkSession


Query = Callable[[Native], DataFrame]


def q0(site: Native) -> DataFrame:
    return site.bid.select("auction", "bidder", "price", "dateTime", "extra")


def q1(site: Native) -> DataFrame:
    return site.bid.selectExpr("auction", "bidder", "dateTime", "extra", DOLLARS)


def q2(site: Native) -> DataFrame:
    return site.bid.filter("auction % 123 = 0").select("auction", "price")


def q3(site: Native) -> DataFrame:
    auctions = site.auction.filter("category = 10").selectExpr("seller", "id AS auction")
    people = site.person.filter("state IN ('OR', 'ID', 'CA')")
    met = auctions.join(people, F.expr("seller = id"))
    return met.selectExpr("name", "city", "state", "auction AS id")


def q5(site: Native) -> DataFrame:
    counts = site.bid.groupBy("auction", F.window("dateTime", "10 seconds", "2 seconds").alias("w"))
    timed = counts.agg(F.count("*").alias("num")).select(
        "auction", "num", F.col("w.end").alias("ends"), F.window_time("w").alias("at")
    )
    together = timed.groupBy(F.window("at", "2 seconds")).agg(
        F.collect_list(F.struct("auction", "num", "ends")).alias("all")
    )
    most = "inline(filter(all, x -> x.num = array_max(transform(all, y -> y.num))))"
    return together.selectExpr(most)


def q7(site: Native) -> DataFrame:
    most = site.bid.groupBy(F.window("dateTime", "10 seconds").alias("w"))
    highest = most.agg(F.max("price").alias("most")).selectExpr(
        "most", "w", "window_time(w) AS passed"
    )
    bids = site.bid.select("auction", "price", "bidder", "dateTime", "extra")
    # The bounds are of the time of a window, a microsecond before its end.
    near = (
        "price = most AND dateTime >= passed - INTERVAL 9.999999 SECONDS "
        "AND dateTime <= passed + INTERVAL 0.000001 SECONDS"
    )
    return highest.join(bids, F.expr(near)).select(
        "auction", "price", "bidder", "dateTime", "extra"
    )


def q8(site: Native) -> DataFrame:
    people = site.person.select("id", "name", F.window("dateTime", "10 seconds").alias("w"))
    sellers = site.auction.select("seller", F.window("dateTime", "10 seconds").alias("v"))
    found = people.join(sellers, F.expr("id = seller AND w = v"), "left_semi")
    return found.selectExpr("id", "name", "w.start AS starttime")


def q10(site: Native) -> DataFrame:
    return site.bid.selectExpr(
        "*", "date_format(dateTime, 'yyyy-MM-dd') AS dt", "date_format(dateTime, 'HH:mm') AS hm"
    )


def q11(site: Native) -> DataFrame:
    sessions = site.bid.groupBy("bidder", F.session_window("dateTime", "10 seconds").alias("w"))
    counts = sessions.agg(F.count("*").alias("bid_count"))
    return counts.selectExpr("bidder", "bid_count", "w.start AS starttime", "w.end AS endtime")


def q12(site: Native) -> DataFrame:
    clock = F.window(F.current_timestamp(), "10 seconds").alias("w")
    return site.bid.groupBy("bidder", clock).agg(F.count("*").alias("bid_count"))


def q13(site: Native) -> DataFrame:
    side = site.spark.range(10_000).selectExpr("id AS key", "id AS value")
    met = site.bid.join(F.broadcast(side), F.expr("auction % 10000 = key"))
    return met.select("auction", "bidder", "price", "dateTime", "value")


def q14(site: Native) -> DataFrame:
    some = site.bid.filter("0.908 * price > 1000000 AND 0.908 * price < 50000000")
    return some.selectExpr(
        "auction",
        "bidder",
        DOLLARS,
        "CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime' "
        "WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END "
        "AS bidTimeType",
        "dateTime",
        "extra",
        "length(extra) - length(replace(extra, 'c', '')) AS c_counts",
    )


def q17(site: Native) -> DataFrame:
    day = F.window("dateTime", "1 day").alias("w")
    ranks = ("price < 10000", "price >= 10000 AND price < 1000000", "price >= 1000000")
    return site.bid.groupBy("auction", day).agg(
        F.count("*"),
        *(F.expr(f"count_if({of})") for of in ranks),
        F.min("price"),
        F.max("price"),
        F.avg("price"),
        F.sum("price"),
    )


def q18(site: Native) -> DataFrame:
    newest = F.max_by(F.struct("*"), "dateTime").alias("last")
    return site.bid.groupBy("bidder", "auction").agg(newest).select("last.*")


def q19(site: Native) -> DataFrame:
    day = F.window("dateTime", "1 day").alias("w")
    best = F.expr("slice(sort_array(collect_list(struct(price, bidder)), false), 1, 10) AS best")
    found = site.bid.groupBy("auction", day).agg(best)
    return found.selectExpr("auction", "posexplode(best)")


def q20(site: Native) -> DataFrame:
    auctions = site.auction.filter("category = 10").withColumnRenamed("dateTime", "a_dateTime")
    auctions = auctions.withColumnRenamed("extra", "a_extra")
    return site.bid.join(auctions, F.expr("auction = id")).drop("id")


def q21(site: Native) -> DataFrame:
    known = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"
    return site.bid.filter(f"{known} OR url RLIKE '{CHANNEL_ID}'").selectExpr(
        "auction",
        "bidder",
        "price",
        "channel",
        "CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' WHEN 'facebook' THEN '2' "
        f"WHEN 'baidu' THEN '3' ELSE regexp_extract(url, '{CHANNEL_ID}', 2) END AS channel_id",
    )


def q22(site: Native) -> DataFrame:
    parts = (f"split(url, '/')[{n + 2}] AS dir{n}" for n in (1, 2, 3))
    return site.bid.selectExpr("auction", "bidder", "price", "channel", *parts)


APPENDING: dict[str, Query] = {
    each.__name__: each for each in (q0, q1, q2, q3, q5, q7, q8, q10, q11, q13, q14, q20, q21, q22)
}
UPDATING: dict[str, Query] = {each.__name__: each for each in (q12, q17, q18, q19)}
"""Queries in the output mode update, which Spark's files do not take: their rows go nowhere."""
