"""A step of a grouping: state and a batch in; state, panes and facts out."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import Grouping, sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import BY_KEY, BY_WINDOW, LATE, ROWS, Advance
from millstream.model.windowing import Windowing

COUNT = [Aggregated("n", ms.count())]
BATCH = pl.DataFrame({"key": ["a", "a", "b"], "time": [1, 2, 3], "sign": 1})


def step(grouping, tables, batch, *advance):
    return grouping.step(tables, {} if batch is None else {ROWS: batch}, Advance(*advance))


def test_panes_come_when_the_watermark_passes_the_end_and_leave_no_state():
    grouping = Grouping(Windowing(ms.fixed(10)), ["key"], COUNT)
    first = step(grouping, {}, BATCH, 0, 0, 0, 0)
    assert not first.outputs[ROWS]
    assert first.facts[()].wakes == 10_000_000
    second = step(grouping, first.tables, None, 0, 10_000_000, 0, 0)
    (panes,) = second.outputs[ROWS]
    assert sorted(panes.select("key", "n", "timing").rows()) == [
        ("a", 2, "ON_TIME"),
        ("b", 1, "ON_TIME"),
    ]
    assert second.tables["panes"].height == 0


def test_a_step_changes_nothing_that_it_was_given():
    grouping = Grouping(Windowing(ms.fixed(10)), ["key"], COUNT)
    first = step(grouping, {}, BATCH, 0, 0, 0, 0)
    before = {name: table.clone() for name, table in first.tables.items()}
    once = step(grouping, first.tables, BATCH, 0, 10_000_000, 0, 0)
    again = step(grouping, first.tables, BATCH, 0, 10_000_000, 0, 0)
    assert all(first.tables[name].equals(table) for name, table in before.items())
    assert pl.concat(once.outputs[ROWS]).equals(pl.concat(again.outputs[ROWS]))


def test_what_is_behind_an_expired_window_is_late():
    grouping = Grouping(Windowing(ms.fixed(10)), ["key"], COUNT)
    made = step(grouping, {}, BATCH, 20_000_000, 20_000_000, 0, 0)
    assert [table["late"].to_list() for table in made.outputs[LATE]] == [["expired"] * 3]


@pytest.mark.parametrize(
    ("window", "bucket"), [(ms.fixed(10), BY_WINDOW), (ms.session(10), BY_KEY)]
)
def test_buckets_are_windows_where_all_keys_have_the_same(window, bucket):
    assert sharded(Windowing(window), ["key"], COUNT).bucket == bucket
