"""The queries of Nexmark over three streams: people, auctions and bids.

Each is a function of a ``Site`` that returns a stream. Where a better bid changes a result that was
emitted, as in q4, the query is retracting: the result is taken back, and the new one follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

from examples.nexmark.generator import BID

import millstream as ms

DOLLARS = "CAST(0.908 * price AS DECIMAL(23, 3))"
CHANGES = ms.repeatedly(ms.after_count(1))
"""Emits a result whenever it changes."""
DAY = ms.calendar("day")
SIDE_INPUT = {key: key for key in range(10_000)}
"""The table of q13."""
CHANNEL_ID = "(&|^)channel_id=([^&]*)"
RANKS = {"rank1": "price < 10000", "rank2": "price >= 10000 AND price < 1000000"}
RANKS["rank3"] = "price >= 1000000"


@dataclass(frozen=True)
class Site:
    """The streams of the auction site; ``longest`` is the longest time that an auction lasts."""

    person: ms.Stream
    auction: ms.Stream
    bid: ms.Stream
    longest: str


def q0(site: Site) -> ms.Stream:
    """Pass through: the bids as they are."""
    return site.bid.select("auction", "bidder", "price", "dateTime", "extra")


def q1(site: Site) -> ms.Stream:
    """Currency conversion: the prices of bids in another currency."""
    return site.bid.select("auction", "bidder", "dateTime", "extra", price=DOLLARS)


def q2(site: Site) -> ms.Stream:
    """Selection: the bids on some auctions."""
    return site.bid.filter("auction % 123 = 0").select("auction", "price")


def q3(site: Site) -> ms.Stream:
    """Local item suggestion: who sells in a category, and lives in some states."""
    auctions = site.auction.filter("category = 10").select("seller", auction="id")
    people = site.person.filter("state IN ('OR', 'ID', 'CA')").select("id", "name", "city", "state")
    met = auctions.join(people, on=("seller", "id"), unbounded_state=True)
    return met.select("name", "city", "state", id="auction")


def q4(site: Site) -> ms.Stream:
    """Average price for each category, of the highest bids so far; each higher bid corrects it."""
    best = (
        _bids_in_time(site)
        .key_by("id", "category")
        .trigger(CHANGES)
        .refine(ms.retracting)
        .aggregate(final=ms.max("price"))
    )
    means = best.key_by("category").trigger(CHANGES).refine(ms.retracting)
    return means.aggregate(mean=ms.mean("final")).select(
        "kind", id="category", final="CAST(FLOOR(mean) AS BIGINT)"
    )


def q5(site: Site) -> ms.Stream:
    """Hot items: every 2 seconds, the auctions with the most bids in the last 10 seconds."""
    counts = site.bid.key_by("auction").window(ms.sliding("10s", "2s")).aggregate(num=ms.count())
    # The panes of one sliding window have one time, its end: they are one window of 2 seconds.
    together = counts.select("auction", "num", ends="window.end").window(ms.fixed("2s")).group()
    return together.flat_map(_most, schema="auction bigint, num bigint, ends timestamp")


def q6(site: Site) -> ms.Stream:
    """Average selling price of each seller: of the winning bids of the ten last auctions.

    A better bid replaces the winner of its auction, which corrects the average of the seller.
    """
    sold = _winners(site).key_by("seller").trigger(CHANGES).refine(ms.retracting)
    newest = "struct(bidTime, id)"  # of two bids at one time, the one for the later auction
    last = sold.aggregate(prices=ms.top(10, by=newest, of="price"))
    return last.map(_mean_price, schema="seller bigint, avg_price bigint, kind string")


def q7(site: Site) -> ms.Stream:
    """Highest bid: of each 10 seconds, all bids with the highest price."""
    most = site.bid.window(ms.fixed("10s")).aggregate(price=ms.max("price")).select("price")
    # A pane is a microsecond before the end of its window; a bid at the end counts, too.
    bids = site.bid.select("auction", "bidder", "price", "dateTime", "extra")
    met = most.interval_join(bids, on="price", between=("-9.999999s", "1us"))
    return met.select("auction", "price", "bidder", "dateTime", "extra")


def q8(site: Site) -> ms.Stream:
    """New users: people who opened an auction within the 10 seconds in which they registered."""
    window = ms.fixed("10s")
    people = site.person.select("id", "name").window(window)
    sellers = site.auction.select("seller").window(window)
    found = people.join(sellers, on=("id", "seller"), how="semi")
    return found.select("id", "name", starttime="window.start")


def q9(site: Site) -> ms.Stream:
    """Winning bids: of each auction the highest bid, the first one of several as high."""
    names = "id, itemName, description, initialBid, reserve, dateTime, expires, seller, category"
    auction = [*names.split(", "), "extra"]
    bid = ("id AS auction", "bidder", "price", "bidTime AS bid_dateTime", "bidExtra AS bid_extra")
    return _winners(site).select(*auction, *bid, "kind")


def q10(site: Site) -> ms.Stream:
    """Log to files: the bids with their day and minute, which folders are named by.

    The sink is ``write_files(…, format="csv", partition_by=["dt", "hm"])``.
    """
    return site.bid.with_columns(
        dt="date_format(dateTime, 'yyyy-MM-dd')", hm="date_format(dateTime, 'HH:mm')"
    )


def q11(site: Site) -> ms.Stream:
    """User sessions: bids of a bidder with pauses of less than 10 seconds."""
    sessions = site.bid.key_by("bidder").window(ms.session("10s")).aggregate(bid_count=ms.count())
    return sessions.select("bidder", "bid_count", starttime="window.start", endtime="window.end")


def q12(site: Site) -> ms.Stream:
    """Bids of each bidder in 10 seconds of the clock."""
    windows = site.bid.key_by("bidder").window(ms.processing_time(ms.fixed("10s")))
    counts = windows.aggregate(bid_count=ms.count())
    return counts.select("bidder", "bid_count", starttime="window.start", endtime="window.end")


def q13(site: Site) -> ms.Stream:
    """Bounded side input: each bid with the value of a table."""
    keyed = site.bid.with_columns(key="auction % 10000")
    found = keyed.lookup(SIDE_INPUT, on="key", schema="value bigint", missing="drop")
    return found.select("auction", "bidder", "price", "dateTime", "value")


def q14(site: Site) -> ms.Stream:
    """Calculation: prices converted, the time of day in words, and a letter counted."""
    some = site.bid.filter("0.908 * price > 1000000 AND 0.908 * price < 50000000")
    return some.select(
        "auction",
        "bidder",
        price=DOLLARS,
        bidTimeType="CASE WHEN hour(dateTime) >= 8 AND hour(dateTime) <= 18 THEN 'dayTime' "
        "WHEN hour(dateTime) <= 6 OR hour(dateTime) >= 20 THEN 'nightTime' ELSE 'otherTime' END",
        dateTime="dateTime",
        extra="extra",
        c_counts="length(extra) - length(replace(extra, 'c', ''))",
    )


def q15(site: Site) -> ms.Stream:
    """Bidding statistics of each day."""
    days = _corrected_daily(site.bid).aggregate(**_bid_statistics())
    return _with_day(days, "day", *_bid_statistics())


def q16(site: Site) -> ms.Stream:
    """Channel statistics of each day."""
    minute = ms.max("date_format(dateTime, 'HH:mm')")
    days = _corrected_daily(site.bid.key_by("channel"))
    found = days.aggregate(minute=minute, **_bid_statistics())
    return _with_day(found, "channel", "day", "minute", *_bid_statistics())


def q17(site: Site) -> ms.Stream:
    """Auction statistics of each day."""
    days = _corrected_daily(site.bid.key_by("auction")).aggregate(
        **_counts(),
        min_price=ms.min("price"),
        max_price=ms.max("price"),
        mean=ms.mean("price"),
        sum_price=ms.sum("price"),
    )
    found = days.with_columns(avg_price="CAST(FLOOR(mean) AS BIGINT)")
    prices = ("min_price", "max_price", "avg_price", "sum_price")
    return _with_day(found, "auction", "day", *_counts(), *prices)


def q18(site: Site) -> ms.Stream:
    """Last bid of each bidder on each auction: each row replaces the one before it."""
    return site.bid.key_by("bidder", "auction").latest()


def q19(site: Site) -> ms.Stream:
    """The ten highest bids of each auction, with their ranks."""
    tens = site.bid.key_by("auction").window(DAY).aggregate(best=ms.top(10, by="price"))
    return tens.flat_map(_ranked, schema=f"{BID}, rank_number int")


def q20(site: Site) -> ms.Stream:
    """Expand bid: each bid on an auction of a category, with the auction."""
    auctions = site.auction.filter("category = 10").select(
        "id",
        "itemName",
        "description",
        "initialBid",
        "reserve",
        "expires",
        "seller",
        "category",
        auction_dateTime="dateTime",
        auction_extra="extra",
    )
    bids = site.bid.select(
        "auction",
        "bidder",
        "price",
        "channel",
        "url",
        bid_dateTime="dateTime",
        bid_extra="extra",
    )
    return bids.join(auctions, on=("auction", "id"), unbounded_state=True)


def q21(site: Site) -> ms.Stream:
    """Channel id: the number of a known channel, or the one in the address."""
    known = "lower(channel) IN ('apple', 'google', 'facebook', 'baidu')"
    some = site.bid.filter(f"{known} OR url RLIKE '{CHANNEL_ID}'")
    return some.select(
        "auction",
        "bidder",
        "price",
        "channel",
        channel_id="CASE lower(channel) WHEN 'apple' THEN '0' WHEN 'google' THEN '1' "
        "WHEN 'facebook' THEN '2' WHEN 'baidu' THEN '3' "
        f"ELSE regexp_extract(url, '{CHANNEL_ID}', 2) END",
    )


def q22(site: Site) -> ms.Stream:
    """Directories of the address."""
    parts = (f"split(url, '/')[{n + 2}] AS dir{n}" for n in (1, 2, 3))
    return site.bid.select("auction", "bidder", "price", "channel", *parts)


def _bids_in_time(site: Site) -> ms.Stream:
    """Each auction with the bids that came before it expired."""
    bids = site.bid.select("auction", "bidder", "price", bidTime="dateTime", bidExtra="extra")
    met = site.auction.interval_join(bids, on=("id", "auction"), between=("0s", site.longest))
    return met.filter("bidTime <= expires")


def _winners(site: Site) -> ms.Stream:
    """The highest bid of each auction, so far; it is taken back when a better one comes."""
    auctions = _bids_in_time(site).key_by("id").trigger(CHANGES).refine(ms.retracting)
    best = auctions.aggregate(best=ms.top(1, by="struct(price, -CAST(bidTime AS DOUBLE))"))
    names = [name for name in _bids_in_time(site).schema.names if name != "id"]
    return best.select("id", "kind", *(f"best[0].{name} AS {name}" for name in names))


def _corrected_daily(bids: ms.Stream) -> ms.Stream:
    """Results of each day, which are corrected as bids come, and let go of when it has ended."""
    return bids.window(DAY).trigger(ms.at_watermark(early=CHANGES)).refine(ms.retracting)


def _counts() -> dict[str, Any]:
    """How many bids there are, in all and of each rank."""
    ranked = {f"{rank}_bids": ms.count(f"CASE WHEN {of} THEN 1 END") for rank, of in RANKS.items()}
    return {"total_bids": ms.count(), **ranked}


def _bid_statistics() -> dict[str, Any]:
    """How many bids, bidders and auctions there are, in all and of each rank."""
    made = _counts()
    for column in ("bidder", "auction"):
        made[f"total_{column}s"] = ms.count_distinct(column)
        for rank, of in RANKS.items():
            ranked = f"CASE WHEN {of} THEN {column} END"
            made[f"{rank}_{column}s"] = ms.count_distinct(ranked)
    return made


def _with_day(results: ms.Stream, *columns: str) -> ms.Stream:
    return results.with_columns(day="date_format(window.start, 'yyyy-MM-dd')").select(
        *columns, "kind"
    )


def _most(pane: dict[str, Any]) -> Iterator[dict[str, Any]]:
    most = max(row["num"] for row in pane["values"])
    return (row for row in pane["values"] if row["num"] == most)


def _mean_price(last: dict[str, Any]) -> dict[str, Any]:
    mean = sum(last["prices"]) // len(last["prices"])
    return {"seller": last["seller"], "avg_price": mean, "kind": last["kind"]}


def _ranked(pane: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rank, bid in enumerate(pane["best"], start=1):
        yield {**bid, "rank_number": rank}


_FIRST = (q0, q1, q2, q3, q4, q5, q6, q7, q8, q9, q10, q11)
_ALL: tuple[Callable[[Site], ms.Stream], ...] = (
    *_FIRST,
    *(q12, q13, q14, q15, q16, q17, q18, q19, q20, q21, q22),
)
QUERIES = {each.__name__: each for each in _ALL}
