"""The small forms of process, and a processor in columns, on Spark: the rows of the reference."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.testing import replay, test_stream
from millstream.testing.forms import random_steps
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.pipelines import checked_program


class Counts(ms.Processor):
    silent = ms.timer("event_time")
    again = ms.timer("processing_time")

    class state:  # noqa: N801
        n: int = 0

    def on_row(self, row, state, timers, out):
        state.n += 1
        timers.silent.set(after=3)
        timers.again.set(after=2)
        out.emit(key=row["key"], n=state.n)

    def on_batch(self, rows, state, timers, out):
        before = state["n"].gather(rows["_slot"])
        rows = rows.with_columns(n=before + pl.int_range(1, pl.len() + 1).over("_slot"))
        timers.silent.set(rows, after=3)
        timers.again.set(rows, after=2)
        out.emit(rows)
        return rows.group_by("_slot").agg(pl.last("n"))

    def on_timer(self, timer, state, timers, out):
        out.emit(key=timer.key["key"], n=-state.n)
        state.n += 10

    def on_timers(self, fired, state, timers, out):
        n = state["n"].gather(fired["_slot"])
        out.emit(fired.with_columns(n=-n))
        return fired.select("_slot", n=n + 10)


def source(number):
    """A source of its own for each program of a query."""
    columns = "key string, value int, at double"
    return test_stream(columns, event_time="at", name=f"events{number}")


def by_key(made):
    found = {}
    for row in made:
        found.setdefault((row.step, row.values["key"]), []).append(str(row))
    return found


def test_small_forms_and_a_processor_in_columns_give_the_rows_of_the_reference():
    streams = [
        source(0).deduplicate("key", within=4),
        source(1).key_by("key").update_state(lambda row, n: n + row["value"], initial=0),
        source(2).key_by("key").latest(),
        source(3).key_by("key").sample(every=2),
        source(4).key_by("key").top(2, by="value"),
        source(5).key_by("key").process(Counts, schema="key string, n bigint"),
    ]
    steps = random_steps(source(0).schema, seed=0)
    made = replay_programs([Program(checked_program(each.node), steps) for each in streams])
    for stream, each in zip(streams, made, strict=True):
        expected = replay(stream, steps=steps)
        assert by_key(each) == by_key(expected)
        assert sorted(map(str, each.late)) == sorted(map(str, expected.late))
