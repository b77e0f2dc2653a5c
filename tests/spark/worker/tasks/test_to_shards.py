"""What Python does with rows in a stage, task by task, without Spark."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.engine.rows import SIGN, TIME, late_rows
from millstream.engine.state.blobs import unpacked
from millstream.physical.operators import spec_of
from millstream.physical.operators.spec import InputSpec
from millstream.physical.plan import physical
from millstream.plan.operators.grouping import Grouping
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.envelopes import ARROW
from millstream.spark.worker.output import Output
from millstream.spark.worker.tasks.to_shards import ToShards


class Sent:
    """A run that keeps the envelopes."""

    def __init__(self):
        self.output = Output(ARROW)
        self.counts = Counts()

    def next_origin(self):
        return "here"


def test_a_retraction_equals_the_row_it_takes_back_but_is_late_as_what_it_is():
    rows = ms.from_rows([], schema="n int, at double", event_time="at")
    totals = rows.window(ms.fixed(10)).refine(ms.retracting).aggregate(n=ms.sum("n"))
    second = totals.drop("window", "pane").key_by("kind").window(ms.fixed(10))
    counts = second.refine(ms.accumulating).aggregate(rows=ms.collect())
    plan = physical(ms.pipeline(counts.collect("counts"), counts.late.collect("late")).sinks)
    node = next(g for g in plan.levels if g.name == "aggregate-2")
    assert isinstance(node, Grouping)
    spec = InputSpec({"key 0": "kind"}, {}, ("n", "kind"), node.name, ("of 0", "row"), "kind")
    task = ToShards(step=node.name, spec=spec_of(plan, node, {}), input=spec, labels=[0])
    run = Sent()
    task.begin(run)
    columns = {"n": [1, 1, 2], "kind": ["+", "-", "mine"], TIME: [0, 0, 0], SIGN: [1, -1, 1]}
    task.take(pl.DataFrame(columns), run)
    assert [(e.node, e.split, e.value) for e in run.counts.envelopes(0)] == [(node.name, "in", 3)]
    task.end(run)
    table = pl.concat(unpacked(envelope.payload) for envelope in run.output.envelopes())
    assert table["key 0"].to_list() == ["+", "+", "mine"]
    assert [row["kind"] for row in table["of 0"].to_list()] == ["+", "+", "mine"]
    late = table.with_columns(start=0, end=10, late=pl.lit("expired"))
    assert late_rows(late)["kind"].to_list() == ["+", "-", "mine"]
