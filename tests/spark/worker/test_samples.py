"""A shard sends a few of its panes, late rows and rejected records along, for people to look at."""

from __future__ import annotations

import json

import polars as pl

import millstream as ms
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState
from millstream.physical.operators import spec_of
from millstream.physical.plan import physical
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.samples import MOST_PANES, MOST_REFUSED, rejected_sample
from millstream.spark.worker.stateful_stage import Stage
from millstream.testing import test_stream

S = 1_000_000


class Totals:
    """A shard of a stage that adds up, by team and window of ten seconds."""

    def __init__(self, late=False, shards=1, lateness=0):
        rows = test_stream("team string, n int, at double", event_time="at", name="rows")
        windows = (
            rows.key_by("team")
            .window(ms.fixed(10), allowed_lateness=lateness)
            .refine(ms.retracting)
        )
        windows = windows.trigger(ms.at_watermark(late=ms.after_count(1)))
        totals = windows.aggregate(total=ms.sum("n")).named("totals")
        sinks = [totals.collect("out"), *([totals.late.collect("late")] if late else [])]
        plan = physical(ms.pipeline(*sinks).sinks)
        (node,) = plan.levels
        self.spec = spec_of(plan, node, {})
        (self.mark,) = plan.origins(node)
        self.stage = Stage([self.spec], list(range(shards)), frozenset())
        self.state = ShardState(InMemoryStore())

    def rows(self, *rows):
        teams, numbers, times = zip(*rows, strict=True)
        of = {"key 0": teams, "of 0": numbers, "time": [at * S for at in times], "sign": 1}
        table = pl.DataFrame(of, schema_overrides={"of 0": pl.Int32})
        if "late" in self.spec.tags:
            whole = pl.struct(pl.col("key 0").alias("team"), pl.col("of 0").alias("n"))
            table = table.with_columns(row=whole)
        exchange = self.spec.exchange("rows", 1)
        for _, arrival in [*exchange.take(table), *exchange.rest()]:
            start, end = arrival.bucket or (None, None)
            place = arrival.rows, "here", arrival.lane, arrival.blob
            yield Envelope(0, "totals", "arrival", start, end, *place)

    def samples(self, *envelopes, watermark):
        """The samples of a batch, by kind."""
        move = Envelope(0, self.mark, "mark", split="", value=watermark * S)
        made = self.stage.run(0, [*envelopes, move], self.state, 0)
        return {e.split: json.loads(e.payload) for e in made if e.kind == "sample"}


def pane(team, total, **others):
    first = {"first": True, "last": False, "index": 0, "timing": "ON_TIME", "kind": "+"}
    return {
        "key": {"team": team}, "values": {"total": total}, "start": 0, "end": 10 * S, **first
    } | others  # fmt: skip


def test_a_pane_has_its_key_its_values_its_window_and_what_it_is():
    totals = Totals()
    assert totals.samples(*totals.rows(("red", 5, 1), ("red", 2, 3)), watermark=5) == {}
    (made,) = totals.samples(watermark=10)["pane"]
    assert made == pane("red", 7, last=made["last"])


def test_what_a_pane_takes_back_is_a_sample_too():
    totals = Totals(lateness=30)
    totals.samples(*totals.rows(("red", 5, 1)), watermark=10)
    back, new = totals.samples(*totals.rows(("red", 2, 3)), watermark=11)["pane"]
    assert (back["kind"], back["values"], back["timing"]) == ("-", {"total": 5}, "ON_TIME")
    assert (new["kind"], new["values"], new["timing"]) == ("+", {"total": 7}, "LATE")


def test_late_rows_have_their_window_and_a_reason_and_if_they_were_combined_no_time():
    totals = Totals()
    totals.samples(*totals.rows(("red", 5, 1)), watermark=20)
    (late,) = totals.samples(*totals.rows(("red", 4, 2)), watermark=21)["late"]
    assert late == {
        "key": {"team": "red"}, "time": None, "start": 0, "end": 10 * S, "reason": "expired"
    }  # fmt: skip


def test_late_rows_that_the_program_reads_are_shown_as_a_whole():
    totals = Totals(late=True)
    totals.samples(watermark=20)
    (late,) = totals.samples(*totals.rows(("red", 4, 2)), watermark=21)["late"]
    assert late["time"] == 2 * S
    assert late["record"] == '{"team": "red", "n": 4}'


def test_of_many_panes_those_of_the_same_keys_are_taken_in_each_batch():
    totals = Totals()
    teams = [f"team {n}" for n in range(500)]
    first = totals.samples(*totals.rows(*((team, 1, 1) for team in teams)), watermark=10)["pane"]
    again = reversed(teams)
    second = totals.samples(*totals.rows(*((team, 1, 11) for team in again)), watermark=20)["pane"]
    assert len(first) == MOST_PANES
    chosen = [{each["key"]["team"] for each in batch} for batch in (first, second)]
    assert chosen[0] == chosen[1]


def test_many_shards_take_fewer_each():
    totals = Totals(shards=12)
    rows = totals.rows(*((f"team {n}", 1, 1) for n in range(500)))
    assert len(totals.samples(*rows, watermark=10)["pane"]) == MOST_PANES // 12


def test_rejected_records_are_few_and_short():
    table = pl.DataFrame({"step": "parse", "reason": "no number", "record": ["x" * 1000] * 50})
    sample = rejected_sample("parse", 3, table)
    rows = json.loads(sample.payload)
    assert (sample.node, sample.split, sample.shard) == ("parse", "rejected", 3)
    assert len(rows) == MOST_REFUSED
    assert rows[0] == {"reason": "no number", "record": "x" * 200 + "…"}


def late_of(joined, watermark=100):
    """What the samples say of a row of the left side, at 2 seconds, that is too late for a join."""
    plan = physical(ms.pipeline(joined.collect("out")).sinks)
    (node,) = plan.levels
    spec = spec_of(plan, node, {})
    stage, state = Stage([spec], [0], frozenset()), ShardState(InMemoryStore())
    moves = [
        Envelope(0, mark, "mark", split="", value=watermark * S) for mark in plan.origins(node)
    ]
    assert list(stage.run(0, moves, state, 0)) is not None
    row = pl.struct(pl.lit("red").alias("team"), pl.lit(4).alias("n"), pl.lit(2.0).alias("at"))
    of = {"key 0": ["red"], "time": [2 * S], "sign": [1], "split": ["0"], "place": [7]}
    table = pl.DataFrame(of).with_columns(row.alias(name) for name in ("of 0", "values"))
    exchange = spec.exchange("left", 1)
    sent = [arrival for _, arrival in [*exchange.take(table), *exchange.rest()]]
    envelopes = []
    for arrival in sent:
        start, end = arrival.bucket or (None, None)
        place = arrival.rows, "here", arrival.lane, arrival.blob, arrival.port
        envelopes.append(Envelope(0, spec.name, "arrival", start, end, *place))
    made = stage.run(0, [*envelopes, *moves], state, 0)
    (late,) = (json.loads(e.payload) for e in made if e.kind == "sample" and e.split == "late")
    return late


def sides():
    schema = "team string, n int, at double"
    return (test_stream(schema, event_time="at", name=name) for name in ("left", "right"))


def test_late_rows_of_a_join_in_windows_have_their_key_and_window():
    left, right = (side.window(ms.fixed(10)) for side in sides())
    (late,) = late_of(left.join(right, on="team"))
    assert (late["key"], late["start"], late["reason"]) == ({"team": "red"}, 0, "expired")


def test_late_rows_of_an_interval_join_have_their_key_and_time():
    left, right = sides()
    (late,) = late_of(left.interval_join(right, on="team", between=(0, 10)))
    assert (late["key"], late["time"], late["reason"]) == ({"team": "red"}, 2 * S, "behind")
    assert late["record"] == '{"team": "red", "n": 4, "at": 2.0}'
