"""Triggers in columns: when each fires and has finished, for all windows at once."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.triggers import Moment, compiled


class Windows:
    """The state of a trigger for some windows, of which ``ended`` have passed their end."""

    def __init__(self, trigger, ended=(False,)):
        self.trigger = compiled(trigger)
        fresh = {c.name: [c.fresh] * len(ended) for c in self.trigger.columns()}
        types = {c.name: c.dtype for c in self.trigger.columns()} | {"ended": pl.Boolean}
        self.table = pl.DataFrame({**fresh, "ended": ended}, schema=types)

    @property
    def env(self):
        return {c.name: pl.col(c.name) for c in self.trigger.columns()}

    def add(self, *counts, now=0):
        moment = Moment(pl.col("ended"), now, merging=False)
        env = self.trigger.on_elements(self.env, pl.Series(counts, dtype=pl.Int64), moment)
        self.table = self.table.with_columns(**env)
        return self

    def fires(self, now=0):
        return self._ask(self.trigger.should_fire(self.env, Moment(pl.col("ended"), now, False)))

    def fire(self, now=0):
        moment = Moment(pl.col("ended"), now, merging=False)
        fires = self.trigger.should_fire(self.env, moment)
        env = self.trigger.on_fire(self.env, fires, moment)
        self.table = self.table.with_columns(**env)
        return self

    def finished(self):
        return self._ask(self.trigger.finished(self.env))

    def _ask(self, expression):
        asked = self.table.with_columns(answer=expression)
        return asked["answer"].to_list()


def test_a_count_fires_where_enough_elements_have_joined_and_has_finished_then():
    windows = Windows(ms.after_count(2), ended=(False, False)).add(1, 2)
    assert windows.fires() == [False, True]
    assert windows.fire().finished() == [False, True]


def test_repeatedly_begins_again():
    windows = Windows(ms.repeatedly(ms.after_count(2))).add(2).fire()
    assert windows.fires() == [False]
    assert windows.finished() == [False]
    assert windows.add(1).add(1).fires() == [True]


def test_the_watermark_fires_where_the_window_has_ended():
    assert Windows(ms.at_watermark(), ended=(False, True)).add(1, 1).fires() == [False, True]


def test_a_delay_begins_with_the_first_element():
    windows = Windows(ms.after_delay(10)).add(1, now=5_000_000)
    assert windows.fires(now=15_000_000) == [False]
    assert windows.fires(now=15_000_001) == [True]


@pytest.mark.parametrize(
    ("trigger", "fires"),
    [
        (ms.first_of(ms.after_count(3), ms.after_count(1)), [True]),
        (ms.all_of(ms.after_count(3), ms.after_count(1)), [False]),
        (ms.in_order(ms.after_count(3), ms.after_count(1)), [False]),
        (ms.after_count(3).or_finally(ms.after_count(2)), [True]),
        (ms.never(), [False]),
    ],
)
def test_two_elements_fire_what_they_are_enough_for(trigger, fires):
    assert Windows(trigger).add(2).fires() == fires
