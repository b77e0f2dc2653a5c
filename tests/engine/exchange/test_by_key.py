"""Rows go to the shard and bucket of their key, and wait until there are many."""

from __future__ import annotations

import polars as pl

from millstream.engine.exchange.by_key import ByKey
from millstream.engine.state.blobs import unpacked


def test_all_rows_of_a_key_arrive_at_one_shard_and_bucket_in_their_order():
    exchange = ByKey(["key 0"], shards=3, port="left")
    rows = pl.DataFrame({"key 0": [n % 20 for n in range(100)], "n": range(100)})
    assert list(exchange.take(rows[:50])) == []
    assert list(exchange.take(rows[50:])) == []
    arrivals = list(exchange.rest())
    tables = [unpacked(a.blob).with_columns(shard=pl.lit(shard)) for shard, a in arrivals]
    together = pl.concat(tables)
    places = together.group_by("key 0").agg(pl.struct("shard", "bucket").n_unique(), "n")
    assert places["shard"].to_list() == [1] * 20
    assert all(numbers == sorted(numbers) for numbers in places["n"].to_list())
    assert sorted(together["n"]) == list(range(100))
    assert {a.port for _, a in arrivals} == {"left"}
    assert sum(a.rows for _, a in arrivals) == 100
    assert list(exchange.rest()) == []
