"""What on_batch is given beside its tables: outputs for tables, and timers of many keys."""

from __future__ import annotations

from typing import Any

import polars as pl
import pytest

import millstream as ms
from millstream.engine.process.batch import Batch, BatchOutput, BatchTimers
from millstream.model.errors import RunError
from millstream.model.instants import LAST, START_OF_TIME
from millstream.model.processors import ROW
from millstream.reference.processor_clock import Clock
from millstream.testing import test_stream

S = 1_000_000


class Alarms(ms.Processor):
    soon = ms.timer("event_time")
    by_clock = ms.timer("processing_time")

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        pass

    def on_timer(self, timer: Any, state: Any, timers: Any, out: Any) -> None:
        pass


def batch(times=(5 * S, 3 * S, None), slots=(0, 1, 0)):
    """Three rows: two of one key and one of another."""
    stream = test_stream("key string, n int, at double", event_time="at").key_by("key")
    made = stream.process(Alarms, schema="n bigint", outputs={"odd": "n bigint"})
    rows = pl.DataFrame(
        {"slot": slots, "time": times}, schema={"slot": pl.UInt32, "time": pl.Int64}
    )
    return Batch(
        made.node.processing, pl.DataFrame({"slot": [0, 1]}), rows, Clock(START_OF_TIME, 0, 9 * S)
    )


def given(*numbers, **columns):
    return pl.DataFrame({ROW: numbers, "n": list(numbers), **columns})


def outputs():
    made: dict[str, BatchOutput] = {}
    for tag in ("rows", "odd"):
        made[tag] = BatchOutput(batch(), tag, made)
    return made


def test_rows_are_emitted_in_the_order_and_with_the_times_of_the_rows_that_they_are_for():
    out = outputs()["rows"]
    out.emit(given(2, 0))
    out.emit(given(1))
    table = out.emitted
    assert [row["n"] for row in table["row"].to_list()] == [0, 1, 2]
    assert table["time"].to_list() == [5 * S, 3 * S, None]
    assert table["slot"].to_list() == [0, 1, 0]
    assert table["sign"].to_list() == [1, 1, 1]


def test_side_outputs_are_found_by_name_and_nothing_is_emitted_of_an_empty_table():
    out = outputs()["rows"]
    out.to("odd").emit(given(0).clear())
    assert out.to("odd").emitted is None
    with pytest.raises(RunError, match="MS201 .*emits to 'od'.*\n.*did you mean 'odd'"):
        out.to("od")
    with pytest.raises(RunError, match="MS201 .*takes a row back"):
        out.retract(given(0))


@pytest.mark.parametrize(
    ("table", "why"),
    [
        ([1], "is no table"),
        (pl.DataFrame({"n": [1]}), "has no such column"),
        (pl.DataFrame({ROW: [None], "n": [1]}), "with nulls in the column"),
    ],
)
def test_a_table_without_the_rows_that_it_is_for_is_refused(table, why):
    with pytest.raises(RunError, match=f"MS201 .*{why}"):
        outputs()["rows"].emit(table)


NONE = pl.DataFrame(
    schema={
        "slot": pl.UInt32,
        "name": pl.String,
        "tag": pl.String,
        "time": pl.Int64,
        "output_time": pl.Int64,
        "holds": pl.Boolean,
    }
)


def set_after(timers, before=NONE):
    return sorted(timers.after(before).select("slot", "name", "tag", "time", "output_time").rows())


def test_of_one_timer_the_last_row_decides():
    timers = BatchTimers(batch(times=(5 * S, 3 * S, 4 * S)))
    timers.given.soon.set(given(2, 1, 0), after="1s")
    assert set_after(timers) == [(0, "soon", "", 5 * S, 5 * S), (1, "soon", "", 4 * S, 4 * S)]
    before = timers.after(NONE)
    again = BatchTimers(batch())
    again.given.soon.clear(given(1))
    assert set_after(again, before) == [(0, "soon", "", 5 * S, 5 * S)]


def test_a_timer_by_the_clock_counts_from_the_clock_and_emits_with_the_time_of_the_row():
    timers = BatchTimers(batch())
    timers.given.by_clock.set(given(0), after="1s", tag="x")
    assert set_after(timers) == [(0, "by_clock", "x", 10 * S, 5 * S)]
    assert timers.given.now.timestamp() == 9


def test_a_timer_is_set_at_a_column_of_times_and_by_tags_of_rows():
    timers = BatchTimers(batch())
    rows = given(0, 1, when=[7 * S, 8 * S], who=["a", "b"])
    timers.given.soon.set(rows, at="when", tag=pl.col("who"))
    assert set_after(timers) == [
        (0, "soon", "a", 7 * S, 7 * S),
        (1, "soon", "b", 8 * S, 8 * S),
    ]


@pytest.mark.parametrize(
    ("how", "why"),
    [
        ({}, "neither after= a delay nor at="),
        ({"after": "1s", "at": "n"}, "or both"),
        ({"at": pl.lit(LAST) + 1}, "outside of the years|after its window"),
        ({"at": pl.lit(None, pl.Int64)}, "for no time"),
    ],
)
def test_a_timer_without_a_time_is_refused(how, why):
    with pytest.raises(RunError, match=f"MS201 .*the timer 'soon' .*({why})"):
        BatchTimers(batch()).given.soon.set(given(0), **how)


def test_a_row_without_an_event_time_cannot_delay_a_timer_of_event_time():
    with pytest.raises(RunError, match="MS201 .*a row has no event time"):
        BatchTimers(batch()).given.soon.set(given(2), after="1s")


def test_a_timer_that_is_not_declared_is_named():
    with pytest.raises(AttributeError, match="has no timer 'late': declare it"):
        _ = BatchTimers(batch()).given.late
