"""The answers of Nexmark, by Polars over all events at once: one function for each query."""

from __future__ import annotations

from collections.abc import Callable

import polars as pl

Events = dict[str, pl.DataFrame]
SECOND = 1_000_000
TIME = pl.col("dateTime").dt.epoch("us")
PRICE = pl.col("price")
DAY = pl.col("dateTime").dt.strftime("%Y-%m-%d")
MINUTE = pl.col("dateTime").dt.strftime("%H:%M")
THOUSANDTHS = (PRICE * 908).alias("price")
"""Prices of another currency, exactly."""
RANKS = {
    "total": pl.lit(True),
    "rank1": PRICE < 10_000,
    "rank2": PRICE.is_between(10_000, 1_000_000, closed="left"),
    "rank3": PRICE >= 1_000_000,
}


def at(micros: pl.Expr) -> pl.Expr:
    return micros.cast(pl.Datetime("us", "UTC"))


def q0(events: Events) -> pl.DataFrame:
    return events["bid"].select("auction", "bidder", "price", "dateTime", "extra")


def q1(events: Events) -> pl.DataFrame:
    return events["bid"].select("auction", "bidder", THOUSANDTHS, "dateTime", "extra")


def q2(events: Events) -> pl.DataFrame:
    return events["bid"].filter(pl.col("auction") % 123 == 0).select("auction", "price")


def q3(events: Events) -> pl.DataFrame:
    auctions = events["auction"].filter(category=10).select("id", person="seller")
    people = events["person"].filter(pl.col("state").is_in(["OR", "ID", "CA"]))
    met = auctions.join(people, left_on="person", right_on="id")
    return met.select("name", "city", "state", "id")


def in_time(events: Events) -> pl.DataFrame:
    """Each auction with the bids that came before it expired."""
    bids = events["bid"].select(
        "auction", "bidder", "price", bid_dateTime="dateTime", bid_extra="extra"
    )
    met = events["auction"].join(bids, left_on="id", right_on="auction")
    return met.filter(pl.col("bid_dateTime").is_between("dateTime", "expires"))


def winners(events: Events) -> pl.DataFrame:
    ranked = in_time(events).sort("price", "bid_dateTime", descending=[True, False])
    return ranked.unique("id", keep="first", maintain_order=True)


def q4(events: Events) -> pl.DataFrame:
    final = in_time(events).group_by("id", "category").agg(PRICE.max())
    return final.group_by(id="category").agg(final=PRICE.sum() // pl.len())


def q5(events: Events) -> pl.DataFrame:
    ends = pl.concat_list((TIME // (2 * SECOND) + 1 + k) * 2 * SECOND for k in range(5))
    counts = events["bid"].select("auction", ends=ends).explode("ends")
    counts = counts.group_by("auction", "ends").agg(num=pl.len().cast(pl.Int64))
    most = counts.filter(pl.col("num") == pl.col("num").max().over("ends"))
    return most.with_columns(ends=at(pl.col("ends")))


def q6(events: Events) -> pl.DataFrame:
    newest = winners(events).sort("bid_dateTime", "id", descending=True)
    last = newest.group_by("seller").head(10)
    return last.group_by("seller").agg(avg_price=PRICE.sum() // pl.len())


def q7(events: Events) -> pl.DataFrame:
    bid = events["bid"].with_columns(time=TIME)
    most = bid.group_by(end=(TIME // (10 * SECOND) + 1) * 10 * SECOND).agg(PRICE.max())
    met = bid.join(most, on="price")
    near = met.filter(pl.col("time").is_between(pl.col("end") - 10 * SECOND, "end"))
    return near.select("auction", "price", "bidder", "dateTime", "extra")


def q8(events: Events) -> pl.DataFrame:
    start = (TIME // (10 * SECOND) * 10 * SECOND).alias("starttime")
    sellers = events["auction"].select(start, id="seller")
    people = events["person"].select("id", "name", start)
    new = people.join(sellers, on=["id", "starttime"], how="semi")
    return new.with_columns(at(pl.col("starttime")))


def q9(events: Events) -> pl.DataFrame:
    return winners(events).with_columns(auction="id")


def q10(events: Events) -> pl.DataFrame:
    return events["bid"].with_columns(dt=DAY, hm=MINUTE)


def q11(events: Events) -> pl.DataFrame:
    bid = events["bid"].select("bidder", time=TIME).sort("bidder", "time")
    begins = (pl.col("time").diff() >= 10 * SECOND).fill_null(True).over("bidder")
    sessions = bid.with_columns(number=begins.cum_sum()).group_by("bidder", "number")
    found = sessions.agg(
        bid_count=pl.len().cast(pl.Int64),
        starttime=at(pl.col("time").min()),
        endtime=at(pl.col("time").max() + 10 * SECOND),
    )
    assert found["bidder"].n_unique() < found.height
    return found.drop("number")


def q12(events: Events) -> pl.DataFrame:
    """Windows of the clock differ from run to run: only how many bids there are is known."""
    return events["bid"].group_by("bidder").agg(bid_count=pl.len().cast(pl.Int64))


def q13(events: Events) -> pl.DataFrame:
    value = (pl.col("auction") % 10_000).alias("value")
    return events["bid"].select("auction", "bidder", "price", "dateTime", value)


def q14(events: Events) -> pl.DataFrame:
    hour = pl.col("dateTime").dt.hour()
    night = pl.when((hour <= 6) | (hour >= 20)).then(pl.lit("nightTime"))
    some = events["bid"].filter((PRICE * 908).is_between(10**9, 5 * 10**10, closed="none"))
    return some.select(
        "auction",
        "bidder",
        THOUSANDTHS,
        "dateTime",
        "extra",
        bidTimeType=pl.when(hour.is_between(8, 18))
        .then(pl.lit("dayTime"))
        .otherwise(night.otherwise(pl.lit("otherTime"))),
        c_counts=pl.col("extra").str.count_matches("c").cast(pl.Int64),
    )


def counts() -> dict[str, pl.Expr]:
    return {f"{rank}_bids": PRICE.filter(of).len().cast(pl.Int64) for rank, of in RANKS.items()}


def statistics() -> dict[str, pl.Expr]:
    distinct = {
        f"{rank}_{column}s": pl.col(column).filter(of).n_unique().cast(pl.Int64)
        for column in ("bidder", "auction")
        for rank, of in RANKS.items()
    }
    return {**counts(), **distinct}


def q15(events: Events) -> pl.DataFrame:
    return events["bid"].group_by(day=DAY).agg(**statistics())


def q16(events: Events) -> pl.DataFrame:
    return events["bid"].group_by("channel", day=DAY).agg(minute=MINUTE.max(), **statistics())


def q17(events: Events) -> pl.DataFrame:
    prices = {
        "min_price": PRICE.min(),
        "max_price": PRICE.max(),
        "avg_price": PRICE.sum() // pl.len(),
        "sum_price": PRICE.sum(),
    }
    return events["bid"].group_by("auction", day=DAY).agg(**counts(), **prices)


def q18(events: Events) -> pl.DataFrame:
    """Times only: of two bids at one time, which one is the last depends on how they arrive."""
    return events["bid"].group_by("bidder", "auction").agg(pl.col("dateTime").max())


def q19(events: Events) -> pl.DataFrame:
    rank = PRICE.rank("ordinal", descending=True).over("auction").cast(pl.Int32)
    return (
        events["bid"]
        .select("auction", "price", rank_number=rank)
        .filter(pl.col("rank_number") <= 10)
    )


def q20(events: Events) -> pl.DataFrame:
    auctions = events["auction"].filter(category=10)
    bids = events["bid"].rename({"dateTime": "bid_dateTime", "extra": "bid_extra"})
    named = auctions.rename({"dateTime": "auction_dateTime", "extra": "auction_extra"})
    return bids.join(named, left_on="auction", right_on="id")


def q21(events: Events) -> pl.DataFrame:
    known = dict(zip(["apple", "google", "facebook", "baidu"], "0123", strict=True))
    given = pl.col("url").str.extract(r"(&|^)channel_id=([^&]*)", 2)
    named = pl.col("channel").str.to_lowercase().replace_strict(known, default=None)
    found = events["bid"].with_columns(channel_id=pl.coalesce(named, given))
    return found.drop_nulls("channel_id").select(
        "auction", "bidder", "price", "channel", "channel_id"
    )


def q22(events: Events) -> pl.DataFrame:
    parts = pl.col("url").str.split("/")
    folders = {f"dir{n}": parts.list.get(n + 2) for n in (1, 2, 3)}
    return events["bid"].select("auction", "bidder", "price", "channel", **folders)


_ALL: tuple[Callable[[Events], pl.DataFrame], ...] = (
    *(q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11),
    *(q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22),
)
ANSWERS = {each.__name__: each for each in _ALL}


def comparable(name: str, rows: pl.DataFrame) -> pl.DataFrame:
    """What is left of the rows of a query when all that was taken back is gone."""
    if "kind" in rows.columns:
        rows = rows.with_columns(sign=pl.when(kind="+").then(1).otherwise(-1)).drop("kind")
        columns = [each for each in rows.columns if each != "sign"]
        rows = rows.group_by(columns).agg(pl.col("sign").sum())
        assert set(rows["sign"]) <= {0, 1}, name
        rows = rows.filter(sign=1).drop("sign")
    match name:
        case "q1" | "q14":  # thousandths, as whole numbers
            return rows.with_columns((PRICE * 1000).round().cast(pl.Int64))
        case "q12":
            return rows.group_by("bidder").agg(pl.col("bid_count").sum())
        case "q18":
            return rows.group_by("bidder", "auction").agg(pl.col("dateTime").last())
    return rows


def check(name: str, rows: pl.DataFrame, events: Events) -> None:
    """The rows of a query are those of Polars."""
    expected = ANSWERS[name](events)
    assert expected.height > 0, name
    columns = sorted(expected.columns)
    found = comparable(name, rows).select(columns).cast(dict(expected.select(columns).schema))
    expected = expected.select(columns)
    assert found.sort(columns).equals(expected.sort(columns)), name
