"""A batch is taken into panes: what joins which window, and what is late."""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.intake import Intake
from millstream.engine.grouping.tables import Aggregated, State
from millstream.engine.operator import LATE
from millstream.model.windowing import Windowing


def take(window, *batches, watermark=0, **settings):
    count = [Aggregated("n", ms.count())]
    intake = Intake(Compiled(Windowing(window, **settings), ["key"], count))
    state, outputs = State(watermark=watermark), defaultdict(list)
    for times in batches:
        batch = pl.DataFrame({"key": "k", "time": list(times), "sign": 1})
        state = intake.take(state, batch, outputs)
    return state, outputs


def test_elements_of_one_window_join_one_pane():
    state, outputs = take(ms.fixed(1e-5), [1, 2, 11], [3])
    panes = state.panes.sort("start")
    assert panes.select("start", "end", "new").rows() == [(0, 10, 3), (10, 20, 1)]
    assert not outputs[LATE]


def test_a_session_that_reaches_two_others_makes_them_one():
    state, _ = take(ms.session(1e-5), [0, 15], [8])
    assert state.panes.select("start", "end", "new").rows() == [(0, 25, 3)]


@pytest.mark.parametrize(
    ("window", "reason"), [(ms.fixed(1e-5), "expired"), (ms.sliding(2e-6, 5e-6), "no window")]
)
def test_what_no_window_can_take_is_late(window, reason):
    state, outputs = take(window, [3], watermark=100)
    assert state.panes is None
    assert [table["late"].to_list() for table in outputs[LATE]] == [[reason]]
