"""An operator that only this test knows runs in a shard: ports, tags, and the facts that wake it.

It holds the rows of its port ``hold`` until the watermark, or the clock, reaches the time of each,
and then emits them, with those of its port ``name`` that have the same key, under a tag.
"""

from __future__ import annotations

from collections import defaultdict

import polars as pl
import pytest

from millstream.engine.exchange.by_key import ByKey
from millstream.engine.operator import (
    BY_KEY,
    ROWS,
    Advance,
    Facts,
    Stepped,
    facts_of,
    in_order,
    row_count,
)
from millstream.engine.state.in_memory import InMemoryStore, WholeOperator
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.engine.tables import concatenated
from millstream.model.instants import END_OF_TIME


class Holding:
    order = ("time",)
    bucket = BY_KEY
    deferral = None

    def __init__(self, by_clock=False):
        self.by_clock = by_clock
        self.steps = 0

    def step(self, tables, batches, advance: Advance) -> Stepped:
        self.steps += 1
        outputs = defaultdict(list)
        held = concatenated(tables.get("held"), batches.get("hold"))
        names = concatenated(tables.get("names"), batches.get("name"))
        if held is not None:
            reached = pl.col("time") <= (advance.now if self.by_clock else advance.watermark)
            outputs[ROWS].append(held.filter(reached))
            if names is not None:
                named = names.join(held.filter(reached), on=["bucket", "key"], how="semi")
                outputs["names"].append(named)
            held = held.filter(~reached)
        wakes, due = (None, pl.col("time").min()) if self.by_clock else (pl.col("time").min(), None)
        facts = facts_of(held, self.bucket, wakes=wakes, due=due, holds=pl.col("time").min())
        tables = {"held": held, "names": names}
        return Stepped({n: t for n, t in tables.items() if t is not None}, outputs, facts)


class Job:
    """One shard of it."""

    def __init__(self, operator):
        self.operator, self.store, self.document = operator, InMemoryStore(), None

    def step(self, watermark, now=0, **ports):
        arrivals = []
        for port, rows in ports.items():
            exchange = ByKey(["key"], 1, port)
            table = pl.DataFrame(rows, schema={"key": pl.String, "time": pl.Int64}, orient="row")
            arrivals += [each for _, each in [*exchange.take(table), *exchange.rest()]]
        state = ShardState(self.store, self.document)
        self.shard = Shard(self.operator, state.of("holding"))
        outputs = self.shard.step(arrivals, watermark, now)
        self.document = state.document.to_json()
        return {
            tag: [(key, time) for table in tables for key, time in table["key", "time"].rows()]
            for tag, tables in outputs.items()
            if sum(table.height for table in tables)
        }


def test_a_shard_gives_each_port_its_rows_and_emits_by_tag():
    job = Job(Holding())
    assert job.step(0, hold=[("a", 5), ("b", 9)], name=[("a", 1), ("c", 1)]) == {}
    assert job.step(5) == {"rows": [("a", 5)], "names": [("a", 1)]}
    assert job.step(9, name=[("b", 2)]) == {"rows": [("b", 9)], "names": [("b", 2)]}


def test_an_operator_runs_only_where_its_facts_wake_it():
    operator = Holding()
    job = Job(operator)
    job.step(0, hold=[("a", 5)])
    assert operator.steps == 1
    job.step(4)
    assert operator.steps == 1, "nothing happens before 5"
    job.step(5)
    assert operator.steps == 2
    job.step(100)
    assert operator.steps == 2, "nothing is left"


def test_the_clock_wakes_an_operator_when_something_is_due():
    job = Job(Holding(by_clock=True))
    assert job.step(0, now=3, hold=[("a", 5)]) == {}
    assert job.shard.next_due == 5
    assert job.step(0, now=6) == {"rows": [("a", 5)]}
    assert job.shard.next_due is None


def test_what_is_held_holds_the_output_watermark():
    job = Job(Holding())
    job.step(2, hold=[("a", 5), ("b", 9)])
    assert job.shard.clocks.output_watermark == 2
    job.step(7)
    assert job.shard.clocks.output_watermark == 7
    job.step(8, hold=[("c", 8)])
    assert job.shard.clocks.output_watermark == 8


def test_an_operator_runs_in_one_process_as_in_a_shard():
    whole, job = WholeOperator(Holding()), Job(Holding())
    table = pl.DataFrame({"key": ["a", "b"], "time": [5, 9], "bucket": [0, 0]})
    whole.step({"hold": table}, 0, 0)
    job.step(0, hold=[("a", 5), ("b", 9)])
    for watermark in (4, 5, 20):
        made = [t for table in whole.step({}, watermark, 0)[ROWS] for t in table["time"]]
        assert made == [time for _, time in job.step(watermark).get("rows", [])]
        assert whole.output_watermark == job.shard.clocks.output_watermark


def test_facts_are_those_of_each_bucket():
    table = pl.DataFrame({"bucket": [0, 1, 0], "time": [7, 3, 5]})
    facts = facts_of(table, ["bucket"], wakes=pl.col("time").min(), holds=pl.col("time").max())
    assert facts == {(0,): Facts(5, None, 7), (1,): Facts(3, None, 3)}
    assert facts_of(table, []) == {(): Facts(END_OF_TIME, None, None)}
    assert facts_of(table[:0], ["bucket"]) == facts_of(None, ["bucket"]) == {}


@pytest.mark.parametrize("seed", range(3))
def test_rows_of_a_step_are_sorted_over_all_tables(seed):
    table = pl.DataFrame({"time": range(20), "n": range(20)}).sample(
        fraction=1, seed=seed, shuffle=True
    )
    assert in_order([table[:7], table[7:]], ["time"])["n"].to_list() == list(range(20))
    assert in_order([], ["time"]) is None


def test_combined_rows_count_as_many_as_they_were():
    assert row_count(pl.DataFrame({"new": [2, None, 3]})) == 6
    assert row_count(pl.DataFrame({"n": [2, None]})) == 2
