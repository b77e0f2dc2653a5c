"""How long callbacks took: by callback, with the key of the longest turn."""

from __future__ import annotations

from itertools import count
from typing import Any

import millstream as ms
from millstream.model.instants import START_OF_TIME
from millstream.model.processors import Row
from millstream.reference.processor_clock import Clock
from millstream.reference.turns import Turns
from millstream.testing import test_stream


class Ticks(ms.Processor):
    tick = ms.timer("processing_time")

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        if row["key"] == "b":
            next(ticks)
        timers.tick.set(after=0)

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        pass


ticks = count()


def test_callbacks_are_timed_by_the_clock_that_is_given() -> None:
    stream = test_stream("key string").key_by("key").process(Ticks, schema="key string")
    turns = Turns(stream.node.processing)  # type: ignore[attr-defined]
    turns.times.begin(lambda: float(next(ticks)))
    for key in "abc":
        row = Row({"key": key})
        row.key, row.micros, row.interval = {"key": key}, None, None
        turns.run(row.key, None, turns.fresh, [row], Clock(START_OF_TIME, START_OF_TIME, 5))
    # Each look at the clock takes a second, and so does the row of b.
    assert turns.times.taken == {
        "on_row": (4.0, 2.0, {"key": "b"}),
        "on_timer": (3.0, 1.0, {"key": "a"}),
    }
