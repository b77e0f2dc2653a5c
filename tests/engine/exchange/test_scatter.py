"""Elements are cut by shard and window, and combined where that loses nothing."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import row_count
from millstream.engine.state.blobs import unpacked
from millstream.model.windowing import Windowing

S = 1_000_000
BATCH = pl.DataFrame({"key": ["a", "a", "b", "a"], "time": [0, S, 2 * S, 11 * S], "sign": 1})


def sent(keeps_late):
    count = [Aggregated("n", ms.count())]
    grouping = sharded(Windowing(ms.fixed(10)), ["key"], count, keeps_late=keeps_late)
    scatter = Scatter(grouping, ["key"], 2)
    return [arrival for _, arrival in [*scatter.take(BATCH), *scatter.rest()]]


def test_elements_of_one_key_and_window_are_combined():
    tables = [unpacked(arrival.blob) for arrival in sent(keeps_late=False)]
    assert sum(table.height for table in tables) == 3
    assert sum(map(row_count, tables)) == 4


def test_each_element_is_sent_where_what_is_late_is_kept():
    assert sum(arrival.rows for arrival in sent(keeps_late=True)) == 4


def test_an_arrival_of_one_window_names_it():
    assert {arrival.bucket for arrival in sent(keeps_late=False)} == {(0, 10 * S), (10 * S, 20 * S)}
