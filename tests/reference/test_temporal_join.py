"""Temporal joins: which version a row meets, when it is emitted, what is late."""

from __future__ import annotations

from bisect import bisect_right

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

import millstream as ms
from join_scripts import SCRIPTS, Script
from millstream.testing import Elements, Watermark, replay, test_stream

ORDERS, PRICES = "item string, n int, at double", "item string, price int, since double"
ENGINES = ("reference", "columnar")


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("script", SCRIPTS, ids=lambda script: script.name)
def test_scripts(script: Script, engine: str) -> None:
    script.holds(replay(script.stream(), steps=script.script(), engine=engine))


def priced(**how):
    orders = test_stream(ORDERS, event_time="at", name="orders")
    prices = test_stream(PRICES, event_time="since", name="prices")
    return orders.temporal_join(prices, on="item", **how)


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_wait_hold_the_windows_after_them(engine):
    totals = priced().window(ms.fixed(10)).aggregate(total=ms.sum("n * price"))
    steps = [
        Elements([{"item": "x", "price": 5, "since": 0.0}], source="prices"),
        Elements([{"item": "x", "n": 2, "at": 9.0}], source="orders"),
        Watermark(30, source="orders"),
        Watermark(9, source="prices"),
        Watermark(30, source="prices"),
    ]
    panes = replay(totals, steps=steps, engine=engine)
    assert [(pane.step, pane.value) for pane in panes] == [(4, 10)]


@pytest.mark.parametrize("engine", ENGINES)
def test_a_table_may_be_a_grouping_that_takes_results_back(engine):
    """The largest bid of each minute: one that is taken back in time is as if it never was."""
    bids = test_stream("item string, price int, since double", event_time="since", name="bids")
    often = (
        bids.key_by("item").window(ms.fixed(60)).trigger(ms.at_watermark(early=ms.after_count(1)))
    )
    best = often.refine(ms.retracting).aggregate(best=ms.max("price")).drop("window", "pane")
    orders = test_stream(ORDERS, event_time="at", name="orders")
    joined = orders.temporal_join(best, on="item", how="left")
    assert joined.schema.names == ("item", "n", "at", "best")
    steps = [
        Elements([{"item": "x", "price": 5, "since": 10.0}], source="bids"),
        Elements([{"item": "x", "n": 1, "at": 30.0}, {"item": "x", "n": 2, "at": 70.0}],
                 source="orders"),
        Elements([{"item": "x", "price": 7, "since": 20.0}], source="bids"),
        Watermark(100),
    ]  # fmt: skip
    rows = replay(joined, steps=steps, engine=engine)
    assert [(row.values["n"], row.values["best"]) for row in rows] == [(1, None), (2, 7)]


@pytest.mark.parametrize("engine", ENGINES)
def test_rows_that_take_others_back_take_back_their_pairs(engine):
    orders = test_stream(ORDERS, event_time="at", name="orders")
    windows = (
        orders.key_by("item").window(ms.fixed(10)).trigger(ms.at_watermark(early=ms.after_count(1)))
    )
    sums = windows.refine(ms.retracting).aggregate(n=ms.sum("n")).drop("window", "pane")
    prices = test_stream(PRICES, event_time="since", name="prices")
    joined = sums.temporal_join(prices, on="item")
    assert joined.schema.names == ("item", "n", "price", "since", "kind")
    steps = [
        Elements([{"item": "x", "price": 5, "since": 0.0}], source="prices"),
        Elements([{"item": "x", "n": 1, "at": 1.0}], source="orders"),
        Elements([{"item": "x", "n": 2, "at": 2.0}], source="orders"),
        Watermark.end(),
    ]
    rows = replay(joined, steps=steps, engine=engine)
    assert [(row.values["n"], row.values["price"], row.kind) for row in rows] == [
        (1, 5, "+"), (1, 5, "-"), (3, 5, "+"),
    ]  # fmt: skip


TIMES = st.integers(0, 20)


@given(
    st.lists(st.tuples(st.sampled_from("ab"), TIMES), max_size=12),
    st.lists(st.tuples(st.sampled_from("ab"), TIMES), max_size=12),
)
def test_a_batch_is_the_as_of_join_of_polars(orders, versions):
    rows = [(item, n, float(at)) for n, (item, at) in enumerate(orders)]
    prices = [(item, n, float(at)) for n, (item, at) in enumerate(versions)]
    left = ms.from_rows(rows, ORDERS, "at", name="orders")
    right = ms.from_rows(prices, PRICES, "since", name="prices")
    made = left.temporal_join(right, on="item", how="left").collect().run().rows()
    frames = (
        pl.DataFrame(some, schema=["item", number, "at"], orient="row",
                     schema_overrides={"item": pl.String, number: pl.Int64, "at": pl.Float64})
        for some, number in ((rows, "n"), (prices, "price"))
    )  # fmt: skip
    one, other = (frame.sort("at", maintain_order=True) for frame in frames)
    expected = one.join_asof(other, on="at", by="item", check_sortedness=False)
    assert sorted((r["n"], r["price"]) for r in made if r["price"] is not None) == sorted(
        expected.drop_nulls("price").select("n", "price").rows()
    )
    assert len(made) == len(rows)


@given(st.lists(TIMES, min_size=1, max_size=10), st.lists(TIMES, max_size=10), st.data())
def test_the_order_of_arrival_changes_nothing(orders, versions, data):
    since = sorted(set(versions))
    expected = {n: bisect_right(since, at) - 1 for n, at in enumerate(orders)}
    rows = [("orders", {"item": "x", "n": n, "at": float(at)}) for n, at in enumerate(orders)]
    rows += [("prices", {"item": "x", "price": i, "since": float(t)}) for i, t in enumerate(since)]
    mixed = data.draw(st.permutations(rows))
    steps = [Elements([row], source=source) for source, row in mixed]
    made = replay(priced(how="left"), steps=[*steps, Watermark.end()])
    none = {None: -1}
    found = {r.values["n"]: none.get(r.values["price"], r.values["price"]) for r in made}
    assert found == expected
