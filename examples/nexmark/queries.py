"""The queries of Nexmark over three streams: people, auctions and bids.

Each is a function of a ``Site`` that returns a stream. Where a better bid changes a result that was
emitted, as in q4, the query is retracting: the result is taken back, and the new one
follows.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

import millstream as ms

DOLLARS = "CAST(0.908 * price AS DECIMAL(23, 3))"
CHANGES = ms.repeatedly(ms.after_count(1))
"""Emits a result whenever it changes."""


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


def q11(site: Site) -> ms.Stream:
    """User sessions: bids of a bidder with pauses of less than 10 seconds."""
    sessions = site.bid.key_by("bidder").window(ms.session("10s")).aggregate(bid_count=ms.count())
    return sessions.select("bidder", "bid_count", starttime="window.start", endtime="window.end")


def q12(site: Site) -> ms.Stream:
    """Bids of each bidder in 10 seconds of the clock."""
    windows = site.bid.key_by("bidder").window(ms.processing_time(ms.fixed("10s")))
    counts = windows.aggregate(bid_count=ms.count())
    return counts.select("bidder", "bid_count", starttime="window.start", endtime="window.end")


def q18(site: Site) -> ms.Stream:
    """Last bid of each bidder on each auction: each row replaces the one before it."""
    return site.bid.key_by("bidder", "auction").latest()


def q19(site: Site) -> ms.Stream:
    """The ten highest bids of each auction, with their ranks."""
    best = site.bid.key_by("auction").window(ms.calendar("day"))
    tens = best.aggregate(best=ms.top(10, by="price"))
    return tens.flat_map(_ranked, schema="auction bigint, bidder bigint, price bigint, rank int")


def _bids_in_time(site: Site) -> ms.Stream:
    """Each auction with the bids that came before it expired."""
    auctions = site.auction.select("id", "seller", "category", "expires")
    bids = site.bid.select("auction", "bidder", "price", bidTime="dateTime")
    met = auctions.interval_join(bids, on=("id", "auction"), between=("0s", site.longest))
    return met.filter("bidTime <= expires")


def _most(pane: dict[str, Any]) -> Iterator[dict[str, Any]]:
    most = max(row["num"] for row in pane["values"])
    return (row for row in pane["values"] if row["num"] == most)


def _ranked(pane: dict[str, Any]) -> Iterator[dict[str, Any]]:
    for rank, bid in enumerate(pane["best"], start=1):
        columns = {name: bid[name] for name in ("auction", "bidder", "price")}
        yield {**columns, "rank": rank}


_ALL: tuple[Callable[[Site], ms.Stream], ...] = (q0, q1, q2, q4, q5, q7, q8, q11, q12, q18, q19)
QUERIES = {each.__name__: each for each in _ALL}
