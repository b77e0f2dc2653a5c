"""The queries of Nexmark give what Polars gives over the same events, all at once."""

from __future__ import annotations

import sys
from pathlib import Path

import polars as pl
import pytest

import millstream as ms

ROOT = Path(__file__).parents[1]
EVENTS, RATE = 3000, 100
"""30 seconds of event time."""
SECOND = 1_000_000
TIME = pl.col("dateTime").dt.epoch("us")


@pytest.fixture(scope="module", autouse=True)
def _examples_can_be_imported():
    sys.path.insert(0, str(ROOT))
    yield
    sys.path.remove(str(ROOT))


@pytest.fixture(scope="module")
def events():
    from examples.nexmark.generator import Generator

    return Generator(RATE).tables(0, EVENTS)


def emitted(events: dict[str, pl.DataFrame], name: str) -> pl.DataFrame:
    """The rows of a query, none of which is taken back when all events come at once."""
    from examples.nexmark.generator import AUCTION, BID, PERSON, Generator
    from examples.nexmark.queries import QUERIES, Site

    kinds = {"person": PERSON, "auction": AUCTION, "bid": BID}
    person, auction, bid = (
        ms.from_rows(events[kind].to_dicts(), schema, "dateTime", name=kind)
        for kind, schema in kinds.items()
    )
    longest = f"{Generator(RATE).longest_auction}ms"
    rows = pl.DataFrame(
        QUERIES[name](Site(person, auction, bid, longest)).collect("rows").run().rows("rows"),
        infer_schema_length=None,
    )
    if "kind" in rows.columns:
        assert set(rows["kind"]) == {"+"}
    return rows


def same(found: pl.DataFrame, expected: pl.DataFrame) -> None:
    columns = sorted(expected.columns)
    assert expected.height > 0
    one, other = (t.select(columns).cast(expected.schema).sort(columns) for t in (found, expected))
    assert one.equals(other)


def at(micros: pl.Expr) -> pl.Expr:
    return micros.cast(pl.Datetime("us", "UTC"))


def test_q0_passes_bids_on(events):
    bid = events["bid"].select("auction", "bidder", "price", "dateTime", "extra")
    same(emitted(events, "q0"), bid)


def test_q1_converts_prices(events):
    found = emitted(events, "q1")
    thousandths = (pl.col("price").cast(pl.Float64) * 1000).round().cast(pl.Int64)
    expected = events["bid"].select("auction", "bidder", "dateTime", price=pl.col("price") * 908)
    same(found.with_columns(price=thousandths), expected)


def test_q2_selects_bids(events):
    some = events["bid"].filter(pl.col("auction") % 123 == 0)
    same(emitted(events, "q2"), some.select("auction", "price"))


def test_q4_averages_the_highest_bids_of_each_category(events):
    bids = events["bid"].select(id="auction", price="price", bid="dateTime")
    met = events["auction"].join(bids, on="id")
    in_time = met.filter(pl.col("bid").is_between("dateTime", "expires"))
    final = in_time.group_by("id", "category").agg(pl.col("price").max())
    mean = final.group_by(id="category").agg(final=pl.col("price").mean().floor().cast(pl.Int64))
    same(emitted(events, "q4"), mean)


def test_q5_finds_the_auctions_with_the_most_bids_in_ten_seconds(events):
    ends = pl.concat_list((TIME // (2 * SECOND) + 1 + k) * 2 * SECOND for k in range(5))
    counts = events["bid"].select("auction", ends=ends).explode("ends")
    counts = counts.group_by("auction", "ends").agg(num=pl.len().cast(pl.Int64))
    most = counts.filter(pl.col("num") == pl.col("num").max().over("ends"))
    same(emitted(events, "q5"), most.with_columns(ends=at(pl.col("ends"))))


def test_q7_finds_all_bids_that_are_the_highest_of_their_ten_seconds(events):
    bid = events["bid"].with_columns(time=TIME)
    most = bid.group_by(end=(TIME // (10 * SECOND) + 1) * 10 * SECOND).agg(pl.col("price").max())
    met = bid.join(most, on="price")
    near = met.filter(pl.col("time").is_between(pl.col("end") - 10 * SECOND, "end"))
    same(emitted(events, "q7"), near.select("auction", "price", "bidder", "dateTime", "extra"))


def test_q8_finds_people_who_sell_as_soon_as_they_register(events):
    start = (TIME // (10 * SECOND) * 10 * SECOND).alias("starttime")
    sellers = events["auction"].select(start, id="seller")
    people = events["person"].select("id", "name", start)
    new = people.join(sellers, on=["id", "starttime"], how="semi")
    same(emitted(events, "q8"), new.with_columns(at(pl.col("starttime"))))


def test_q11_finds_the_sessions_of_bidders(events):
    bid = events["bid"].select("bidder", time=TIME).sort("bidder", "time")
    begins = (pl.col("time").diff() >= 10 * SECOND).fill_null(True).over("bidder")
    sessions = (
        bid.with_columns(number=begins.cum_sum())
        .group_by("bidder", "number")
        .agg(
            bid_count=pl.len().cast(pl.Int64),
            starttime=at(pl.col("time").min()),
            endtime=at(pl.col("time").max() + 10 * SECOND),
        )
    )
    assert sessions["bidder"].n_unique() < sessions.height
    same(emitted(events, "q11"), sessions.drop("number"))


def test_q12_counts_each_bid_once(events):
    found = emitted(events, "q12").group_by("bidder").agg(n=pl.col("bid_count").sum())
    same(found, events["bid"].group_by("bidder").agg(n=pl.len().cast(pl.Int64)))


def test_q18_ends_with_the_last_bid_of_each_bidder_on_each_auction(events):
    by = ["bidder", "auction"]
    last = emitted(events, "q18").group_by(by).agg(pl.col("dateTime").last())
    same(last, events["bid"].group_by(by).agg(pl.col("dateTime").max()))


def test_q19_ranks_the_ten_highest_bids_of_each_auction(events):
    rank = pl.col("price").rank("ordinal", descending=True).over("auction").cast(pl.Int32)
    ranked = events["bid"].select("auction", "price", rank=rank)
    same(emitted(events, "q19"), ranked.filter(pl.col("rank") <= 10))


def test_events_are_the_same_however_they_are_partitioned():
    from examples.nexmark.generator import Generator

    whole = Generator().tables(0, 1000)
    parts = [Generator().tables(first, 250) for first in range(0, 1000, 250)]
    for kind, table in whole.items():
        assert pl.concat([part[kind] for part in parts]).equals(table)
    sizes = {kind: table.height for kind, table in whole.items()}
    assert sizes == {"person": 20, "auction": 60, "bid": 920}


def test_the_first_ids_are_those_of_beam():
    from examples.nexmark.generator import Generator

    made = Generator().tables(0, 52)
    assert made["person"]["id"].to_list() == [1000, 1001]
    assert made["auction"]["id"].to_list() == [1000, 1001, 1002, 1003]
    assert made["bid"].height == 46


def test_half_of_the_bids_are_on_hot_auctions_and_prices_are_of_all_sizes():
    from examples.nexmark.generator import Generator

    bid = Generator().tables(0, 100_000)["bid"]
    hot = bid.filter(pl.col("auction") % 100 == 0).height / bid.height
    assert 0.49 < hot < 0.53
    assert 90_000 < bid["price"].median() < 111_000
    assert bid["price"].is_between(100, 100_000_000).all()
