"""Windows in columns: which an element is in, which merge, and when they expire."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.grouping.windows import windows_of
from millstream.model.instants import END_OF_TIME, START_OF_TIME

S = 1_000_000


def assigned(kind, *times):
    table = windows_of(kind).assign(pl.DataFrame({"time": [time * S for time in times]}))
    bounds = table.select("start", "end").rows()
    return [None if start is None else (start // S, end // S) for start, end in bounds]


def test_an_element_is_in_the_windows_that_cover_its_time():
    assert assigned(ms.fixed(10, 3), 2, 3, -8) == [(-7, 3), (3, 13), (-17, -7)]
    assert sorted(assigned(ms.sliding(10, 5), 7)) == [(0, 10), (5, 15)]
    assert assigned(ms.session(10), 7) == [(7, 17)]


def test_an_element_between_sliding_windows_is_in_none():
    assert assigned(ms.sliding(2, 5), 3) == [None]


def test_a_day_is_that_of_the_time_zone():
    assert assigned(ms.calendar("day", timezone="Etc/GMT-1"), 0) == [(-3600, 82800)]


def test_the_global_window_is_all_of_time():
    table = windows_of(ms.global_window()).assign(pl.DataFrame({"time": [0]}))
    assert table.select("start", "end").row(0) == (START_OF_TIME, END_OF_TIME)


@pytest.mark.parametrize(("touching", "unions"), [(True, [(0, 20)]), (False, [(0, 10), (10, 20)])])
def test_sessions_that_touch_merge_if_they_are_to(touching, unions):
    table = pl.DataFrame({"key": ["a", "a"], "start": [10, 0], "end": [20, 10]})
    merged = windows_of(ms.session(10, touching)).merge(table, ["key"])
    assert sorted(set(merged.select("union_start", "union_end").rows())) == unions


def test_sessions_of_different_keys_stay_apart():
    table = pl.DataFrame({"key": ["a", "b"], "start": [0, 5], "end": [10, 15]})
    merged = windows_of(ms.session(10)).merge(table, ["key"])
    assert merged.select("key", "union_start", "union_end").rows() == [("a", 0, 10), ("b", 5, 15)]


def test_a_window_expires_when_the_watermark_is_its_lateness_beyond_its_end():
    table = pl.DataFrame({"end": [10, 11]})
    expired = windows_of(ms.fixed(1)).expired(watermark=15, allowed_lateness=5)
    assert table.select(expired).to_series().to_list() == [True, False]


def test_windows_of_a_kind_that_is_not_known_are_refused():
    with pytest.raises(TypeError, match="unknown kind of windows"):
        windows_of("monthly")
