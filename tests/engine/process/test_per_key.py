"""Keys have their turns one by one: rows, state and timers from tables to Python, and back."""

from __future__ import annotations

from typing import Any

import polars as pl

import millstream as ms
from millstream.engine.process.per_key import PerKey, Turn
from millstream.model.instants import START_OF_TIME
from millstream.reference.processor_clock import Clock
from millstream.reference.turns import Turns
from millstream.testing import test_stream

S = 1_000_000


class Sums(ms.Processor):
    tick = ms.timer("event_time")

    class state:  # noqa: N801
        total: int = 0

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        state.total += row["n"]
        timers.tick.set(after="10s")
        out.emit(key=row.key["key"], total=state.total)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        out.emit(key="timer", total=state.total)
        state.total = 0


def per_key():
    stream = test_stream("key string, n int, at double", event_time="at").key_by("key")
    what = stream.process(Sums, schema="key string, total bigint").node.processing
    return PerKey(what, {"key 0": "key"}, Turns(what))


def turn(rows=(), keys=None, timers=None, watermark=START_OF_TIME):
    slots = pl.DataFrame(
        {"slot": [0, 1], "bucket": [0, 0], "key 0": ["a", "b"], "start": None, "end": None},
        schema_overrides={"slot": pl.UInt32, "start": pl.Int64, "end": pl.Int64},
    )
    table = None
    if rows:
        table = pl.DataFrame(
            [
                {"slot": slot, "time": at * S, "row": {"key": "ab"[slot], "n": n, "at": float(at)}}
                for slot, n, at in rows
            ],
            schema_overrides={"slot": pl.UInt32},
        )
    return Turn(slots, table, keys, timers, Clock(START_OF_TIME, watermark, 0))


def emitted(ran):
    table = ran.emitted.get("rows")
    if table is None:
        return []
    columns = table["row"].struct.unnest()
    return list(zip(*columns.get_columns(), table["time"], strict=True))


def test_rows_are_taken_key_by_key_in_their_order():
    ran = per_key().run(turn([(0, 1, 1), (0, 2, 3), (1, 5, 2)]))
    assert emitted(ran) == [("a", 1, S), ("a", 3, 3 * S), ("b", 5, 2 * S)]
    assert ran.keys["field total"].to_list() == [3, 5]
    assert ran.timers.select("slot", "name", "time").rows() == [
        (0, "tick", 13 * S),
        (1, "tick", 12 * S),
    ]


def test_what_a_turn_leaves_the_next_one_finds_and_a_key_without_anything_is_forgotten():
    made = per_key()
    first = made.run(turn([(0, 1, 1), (1, 5, 2)]))
    second = made.run(turn([(0, 2, 4)], first.keys, first.timers, watermark=12 * S))
    assert emitted(second) == [("a", 3, 4 * S), ("timer", 5, 12 * S)]
    assert second.keys["slot"].to_list() == [0], "key b has no state and no timer any more"


def test_what_is_emitted_knows_its_slot_where_that_is_needed():
    rows = [(0, 1, 1), (1, 5, 2), (1, 6, 3)]
    assert per_key().run(turn(rows), with_slots=True).emitted["rows"]["slot"].to_list() == [0, 1, 1]
    assert "slot" not in per_key().run(turn(rows)).emitted["rows"].columns


def test_rows_without_an_event_time_have_none():
    seen = []

    class Times(Sums):
        def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
            seen.append(row.micros)

    stream = test_stream("key string, n int, at double", event_time="at").key_by("key")
    what = stream.process(Times, schema="key string, total bigint").node.processing
    given = turn([(0, 1, 1), (1, 2, 2)])
    no_time = given.rows.with_columns(time=pl.Series([S, START_OF_TIME + 1]))
    PerKey(what, {"key 0": "key"}, Turns(what)).run(
        Turn(given.slots, no_time, None, None, given.at)
    )
    assert seen == [S, None]
