"""Panes are emitted where triggers fire, with what each says of itself."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import ROWS, Advance
from millstream.model.windowing import Windowing

INFO = ("n", "timing", "index", "first", "last")
BATCH = pl.DataFrame({"key": ["a", "a"], "time": [1, 2], "sign": 1})


def panes(refine, *advances, **settings):
    """What each step emits: two elements come with each, but the last."""
    trigger = ms.at_watermark(early=ms.after_count(2), late=ms.after_count(1))
    windowing = Windowing(ms.fixed(1e-5), trigger=trigger, refine=refine, **settings)
    grouping = Grouping(windowing, ["key"], [Aggregated("n", ms.count())])
    tables, before, made = {}, 0, []
    for i, watermark in enumerate(advances):
        batches = {ROWS: BATCH} if i < len(advances) - 1 else {}
        stepped = grouping.step(tables, batches, Advance(before, watermark, 0, 0))
        tables, before = stepped.tables, watermark
        made.append([row for t in stepped.outputs[ROWS] for row in t.select(INFO).rows()])
    return made


def test_panes_are_early_on_time_and_late():
    made = panes(ms.accumulating, 0, 10, 10, 20, allowed_lateness=10)
    assert made == [
        [(2, "EARLY", 0, True, False)],
        [(4, "EARLY", 1, False, False), (4, "ON_TIME", 2, False, False)],
        [(6, "LATE", 3, False, False)],
        [],
    ]


def test_a_discarding_pane_holds_only_what_is_new():
    made = panes(ms.discarding, 0, 0, 10)
    assert [[row[0] for row in step] for step in made] == [[2], [2], [0]]
