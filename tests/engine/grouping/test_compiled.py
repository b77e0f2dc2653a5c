"""What follows from the answers to the four questions."""

from __future__ import annotations

import pytest

import millstream as ms
from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.tables import Aggregated
from millstream.model.windowing import Windowing

COUNT = Aggregated("n", ms.count())
LIST = Aggregated("all", ms.collect("value"), "of 0")


def compiled(window=None, aggregates=(COUNT,), keeps_late=False, **settings):
    windowing = Windowing(window or ms.fixed(10), **settings)
    return Compiled(windowing, ["key"], aggregates, keeps_late=keeps_late)


def test_counts_are_combined_before_the_shuffle_and_lists_are_not():
    assert compiled().combines
    assert not compiled(aggregates=(LIST,)).combines


def test_nothing_is_combined_where_late_rows_are_kept_themselves():
    assert not compiled(keeps_late=True).combines


@pytest.mark.parametrize(
    ("window", "by_window"),
    [(ms.fixed(1), True), (ms.session(1), False), (ms.global_window(), False)],
)
def test_state_is_kept_by_window_where_all_keys_have_the_same(window, by_window):
    assert compiled(window).by_window is by_window


def test_rows_wait_where_nothing_happens_before_the_end():
    assert compiled().appends
    assert not compiled(trigger=ms.repeatedly(ms.after_count(1))).appends
