"""Rows that wait for the end of their window."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import Advance
from millstream.engine.state.blobs import packed
from millstream.model.instants import START_OF_TIME
from millstream.model.windowing import Windowing

COUNT = [Aggregated("n", ms.count())]
WINDOW = (0, 10)


def deferral(**settings):
    return sharded(Windowing(ms.fixed(1e-5), **settings), ["key"], COUNT, keeps_late=False).deferral


def test_rows_wait_until_the_end_of_their_window_and_those_in_none_do_not():
    assert deferral().until(WINDOW) == 10
    assert deferral().until((None, None)) == START_OF_TIME


def test_what_can_fire_before_the_end_does_not_wait():
    assert deferral(trigger=ms.repeatedly(ms.after_count(1))) is None


@pytest.mark.parametrize(("timestamp", "holds"), [("end", 9), ("earliest", 4)])
def test_waiting_rows_hold_the_watermark_at_the_time_of_their_pane(timestamp, holds):
    rows = packed(pl.DataFrame({"key": ["a", "a", "b"], "time": [2, 4, 7], "sign": 1}))
    assert deferral(timestamp=timestamp).holds(WINDOW, rows, watermark=3) == holds


@pytest.mark.parametrize(("lateness", "final"), [(0, True), (1, False)])
def test_a_window_is_final_if_it_expires_with_its_end(lateness, final):
    waiting = deferral(allowed_lateness=lateness)
    assert waiting.is_final(WINDOW, Advance(5, 10, 0, 0)) is final
    assert not waiting.is_final(WINDOW, Advance(5, 9, 0, 0))
