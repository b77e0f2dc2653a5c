"""Which groupings share slices, and what of their stretches must be read."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.model.windowing import Windowing

COUNT = Aggregated("n", ms.count())


def sharing(window=None, aggregated=COUNT, takes_retractions=False, **settings):
    windowing = Windowing(window or ms.sliding(8e-6, 1e-6), **settings)
    deferral = sharded(windowing, ["key"], [aggregated], takes_retractions).deferral
    return deferral and deferral.sharing


@pytest.mark.parametrize("late", [None, ms.after_count(2)])
@pytest.mark.parametrize("refine", [ms.discarding, ms.accumulating, ms.retracting])
def test_windows_that_overlap_and_wait_for_their_end_share_slices(late, refine):
    assert sharing(trigger=ms.at_watermark(late=late), refine=refine, allowed_lateness=5)


@pytest.mark.parametrize(
    "other",
    [
        {"window": ms.fixed(10)},
        {"window": ms.sliding(5, 5)},
        {"window": ms.sliding(5, 6)},
        {"trigger": ms.at_watermark(early=ms.after_count(1))},
        {"trigger": ms.at_watermark(early=ms.every(1))},
        {"timestamp": "earliest"},
        {"aggregated": Aggregated("all", ms.collect("value"), "value")},
        {"takes_retractions": True},
    ],
)
def test_all_others_keep_the_rows_of_each_window(other):
    assert not sharing(**other)


def test_rows_of_live_windows_are_combined_by_key_and_slice():
    rows = pl.DataFrame(
        {"key": ["a", "a", "a", "b"], "slice": [1, 1, 4, 9], "time": 0, "sign": 1},
    )
    # Windows of 8 slices; a stretch has four. Window 0 ends at 8, and slice 1 is in window 1, too.
    shared = sharing().shared(rows, made=8)
    found = {n: sorted(t["key", "slice", "new"].rows()) for n, t in shared.items()}
    assert found == {0: [("a", 1, 2)], 1: [("a", 4, 1)], 2: [("b", 9, 1)]}
    assert sharing().shared(rows.head(2), made=9) == {}


def test_a_stretch_is_cut_by_the_edges_of_windows_that_end_and_of_the_next():
    # Window 1 has the slices from 1 to 8, and the next one those from 2 on.
    ending = sharing().waking([0, 1, 2], made=8, watermark=9)
    assert ending == range(1, 2)
    assert [sharing().is_cut(stretch, ending) for stretch in (0, 1, 2)] == [True, False, True]
