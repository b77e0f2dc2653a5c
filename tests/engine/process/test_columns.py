"""What is kept of keys in columns: row n of each is of slot n."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import millstream as ms
from millstream.engine.process.columns import HeldColumns
from millstream.engine.process.per_key import Turn
from millstream.model.errors import RunError
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.processors import SLOT
from millstream.reference.processor_clock import Clock
from millstream.testing import test_stream

S = 1_000_000


class Totals(ms.Processor):
    tick = ms.timer("event_time")
    by_clock = ms.timer("processing_time")

    class state:  # noqa: N801
        total: int = 7
        name: str | None = None

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def held(keys=None, timers=None, watermark=START_OF_TIME, now=9 * S):
    stream = test_stream("key string, n int, at double", event_time="at").key_by("key")
    what = stream.process(Totals, schema="key string, total bigint").node.processing
    slots = pl.DataFrame(
        {"slot": [0, 1, 2], "bucket": [0] * 3, "key 0": list("abc"), "start": None, "end": None},
        schema_overrides={"slot": pl.UInt32, "start": pl.Int64, "end": pl.Int64},
    )
    turn = Turn(slots, None, keys, timers, Clock(START_OF_TIME, watermark, now))
    return HeldColumns(what, {"key 0": "key"}, turn)


def state(*rows):
    columns = [SLOT, "total", "name"]
    return pl.DataFrame(rows, schema=columns, orient="row")


def test_keys_that_are_new_have_the_defaults_and_others_what_is_held():
    made = held()
    assert made.state.rows() == [(0, "a", 7, None), (1, "b", 7, None), (2, "c", 7, None)]
    made.take(state((1, 8, "x")))
    kept = made.keys.filter(pl.col("slot") == 1)
    assert held(keys=kept).state.rows() == [(0, "a", 7, None), (1, "b", 8, "x"), (2, "c", 7, None)]


def test_state_that_is_returned_replaces_that_of_its_slots_in_its_columns():
    made = held()
    made.take(state((2, 1, "c"), (0, 2, "a")))
    assert made.state["total"].to_list() == [2, 7, 1]
    made.take(made.state.select(SLOT, name=pl.lit("all")))
    assert made.state.select("total", "name").rows() == [(2, "all"), (7, "all"), (1, "all")]
    made.take(None)
    assert made.state["total"].to_list() == [2, 7, 1]


@pytest.mark.parametrize(
    ("given", "why"),
    [
        ([1], "is no Polars table"),
        (pl.DataFrame({"total": [1]}), "is no Polars table with the column"),
        (state((1, 1, "a"), (1, 2, "b")), "has a slot twice"),
    ],
)
def test_state_of_no_slots_is_refused(given, why):
    with pytest.raises(RunError, match=f"MS201 .*{why}"):
        held().take(given)


def timers(*rows):
    return pl.DataFrame(
        rows,
        schema={
            "slot": pl.UInt32,
            "name": pl.String,
            "tag": pl.String,
            "time": pl.Int64,
            "output_time": pl.Int64,
            "holds": pl.Boolean,
        },
        orient="row",
    )


SET = timers(
    (0, "tick", "", 5 * S, 4 * S, True),
    (0, "tick", "x", 3 * S, 3 * S, False),
    (1, "by_clock", "", 20 * S, 6 * S, True),
)


def test_a_key_wakes_by_its_first_timer_of_each_kind_and_holds_by_those_that_hold():
    keys = held(timers=SET).keys
    assert keys["wakes"].to_list() == [3 * S, END_OF_TIME, END_OF_TIME]
    assert keys["due"].to_list() == [None, 20 * S, None]
    assert keys["holds"].to_list() == [4 * S, 6 * S, None]


def test_a_key_stays_by_a_timer_or_by_state_that_is_not_the_default():
    made = held(timers=SET)
    assert made.stays.to_list() == [True, True, False]
    made.take(state((2, 8, None)))
    assert made.stays.to_list() == [True, True, True]


@pytest.mark.parametrize(
    ("watermark", "now", "expected"),
    [
        (START_OF_TIME, 9 * S, [False, False, False]),
        (3 * S, 9 * S, [True, False, False]),
        (START_OF_TIME, 20 * S, [False, True, False]),
        (END_OF_TIME, 9 * S, [True, True, True]),
    ],
)
def test_something_happens_by_the_watermark_the_clock_or_at_the_end(watermark, now, expected):
    made = held(timers=SET, watermark=watermark, now=now)
    assert made.happens(made.keys).to_list() == expected


def test_the_last_time_of_a_key_is_that_of_its_newest_row_and_never_an_older_one():
    made = held()
    schema = {"slot": pl.UInt32, "time": pl.Int64}
    made.note(pl.DataFrame({"slot": [0, 0, 1], "time": [5, 8, None]}, schema=schema))
    made.note(pl.DataFrame({"slot": [0], "time": [6]}, schema=schema))
    assert made.held["last"].to_list() == [8, START_OF_TIME, START_OF_TIME]
    assert made.held["seen"].to_list() == [9 * S, 9 * S, 0]
