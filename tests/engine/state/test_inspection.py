"""What people see of the state: sums over shards, the oldest window, and the rows of a key."""

from __future__ import annotations

from datetime import date

import polars as pl
import pytest

from millstream.engine.state.document import Bucket, Clocks, Document, Lane, Part, Shared
from millstream.engine.state.inspection import StepState, by_step, oldest_window, rows_with_key


def test_steps_have_the_sums_of_their_shards():
    part = Part(0, 3, 30)
    one = Clocks(7, buckets=[Bucket((10, 20), rows=2, size=20, lanes=[Lane("rows", None, [part])])])
    other = Clocks(6, buckets=[Bucket((5, 15), rows=1, size=10)])
    shared = Clocks(6, shared=Shared(stretches=[Bucket((3,), rows=4, size=40)]))
    documents = [Document(operators={"a": one, "b": shared}), Document(operators={"a": other})]
    assert by_step(documents) == {
        "a": StepState(rows=6, bytes=60, buckets=2, shards=2, oldest=5, watermark=6),
        "b": StepState(rows=4, bytes=40, buckets=1, shards=1, oldest=None, watermark=6),
    }


def test_the_oldest_window_of_a_table_is_that_which_starts_first():
    assert oldest_window(pl.DataFrame({"start": [30, 10, 20]})) == 10
    assert oldest_window(pl.DataFrame({"start": []}, schema={"start": pl.Int64})) is None
    assert oldest_window(pl.DataFrame({"n": [1]})) is None


@pytest.mark.parametrize(
    ("keys", "given"),
    [
        (["red", "blue"], "blue"),
        ([1, 2], "2"),
        ([True, False], "false"),
        ([date(2026, 1, 1), date(2026, 1, 2)], "2026-01-02"),
        (["red", None], "null"),
        ([{"a": 1}, {"a": 2}], "{'a': 2}"),
    ],
)
def test_the_rows_of_a_key_are_found_by_its_text(keys, given):
    table = pl.DataFrame({"key 0": keys, "n": [1, 2]})
    assert rows_with_key(table, [given])["n"].to_list() == [2]
    assert rows_with_key(table, ["other"]).height == 0
    assert rows_with_key(table, [given, given]).height == 0
