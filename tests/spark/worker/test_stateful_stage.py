"""The operators of a stage, for one shard and one micro-batch: from envelopes to envelopes."""

from __future__ import annotations

import polars as pl
import pytest

import millstream as ms
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.store import ShardState
from millstream.physical.operators import spec_of
from millstream.physical.plan import physical
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.stateful_stage import Stage
from millstream.testing import test_stream

S = 1_000_000


class Counts:
    """A shard of a stage that counts, by key and window."""

    def __init__(self, trigger=None):
        windows = test_stream("key string, at double", event_time="at", name="rows").key_by("key")
        windows = windows.window(ms.fixed(10)).refine(ms.accumulating)
        windows = windows.trigger(trigger) if trigger else windows
        plan = physical(windows.aggregate(n=ms.count()).named("counts").collect("n").sinks)
        (node,) = plan.levels
        self.spec = spec_of(plan, node, {})
        (self.mark,) = plan.origins(node)
        self.stage = Stage([self.spec], [0], frozenset())
        self.state = ShardState(InMemoryStore())

    def elements(self, *times):
        exchange = self.spec.exchange("rows", 1)
        rows = pl.DataFrame({"key 0": "a", "time": [time * S for time in times], "sign": 1})
        for _, arrival in [*exchange.take(rows), *exchange.rest()]:
            start, end = arrival.bucket or (None, None)
            place = arrival.rows, "here", arrival.lane, arrival.blob
            yield Envelope(0, "counts", "arrival", start, end, *place)

    def step(self, *envelopes, now=0):
        """The counts that are emitted, and what else is sent on."""
        made = list(self.stage.run(0, envelopes, self.state, now))
        emitted = [e.table()["value 0"].to_list() for e in made if e.kind == "emit"]
        return emitted, [e for e in made if e.kind not in ("emit", "count", "splits", "sample")]


def test_panes_are_emitted_when_the_watermark_has_passed_their_end():
    counts = Counts()
    assert counts.step(*counts.elements(1, 2), *counts.elements(11)) == ([], [])
    emitted, _ = counts.step(Envelope(0, counts.mark, "mark", split="", value=10 * S))
    assert emitted == [[2]]


def test_what_is_for_other_stages_is_sent_on_and_marks_that_none_needs_are_not():
    counts = Counts()
    for_a_sink = Envelope(0, "n", "sink", payload=b"rows")
    mark = Envelope(0, "elsewhere", "mark", split="", value=S)
    assert counts.step(for_a_sink, mark) == ([], [for_a_sink])


@pytest.mark.parametrize(("operator", "emitted"), [("counts", [[1]]), ("another", [])])
def test_a_clock_is_that_of_the_operator_which_it_names(operator, emitted):
    counts = Counts(ms.at_watermark(early=ms.repeatedly(ms.after_delay(5))))
    counts.step(*counts.elements(1))
    assert counts.step(Envelope(0, operator, "clock", value=6 * S))[0] == emitted


def test_a_shard_is_woken_by_the_clock_after_its_next_deadline():
    counts = Counts(ms.at_watermark(early=ms.repeatedly(ms.after_delay(5))))
    assert counts.stage.wakes(counts.state, 0) is None
    counts.step(*counts.elements(1), now=S)
    assert counts.stage.wakes(counts.state, S) == 6 * S + 1
