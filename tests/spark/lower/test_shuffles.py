"""The shuffle before a stateful stage, in a batch query and in a streaming query."""

from __future__ import annotations

from dataclasses import dataclass

import pyarrow as pa
import pytest

from millstream.spark.lower import shuffles
from millstream.spark.lower.shuffles import in_one_batch, with_state
from millstream.spark.worker.envelopes import ARROW, ENVELOPE, Envelope, batches_of, envelopes_in
from millstream.spark.worker.repair import Repair
from millstream.spark.worker.stateful_stage import Stage


@dataclass
class Echo(Stage):
    """Sends on what a shard gets, with what it was called with."""

    def run(self, label, envelopes, state, now, ends=False):
        for envelope in envelopes:
            yield Envelope(label, envelope.node, "emit", value=now, split=str(ends))


class Frame:
    """A frame that keeps what it is grouped by and what runs over the groups."""

    def groupBy(self, column):  # noqa: N802 - Spark's names
        assert column == "shard"
        return self

    def applyInArrow(self, run, schema):  # noqa: N802
        assert schema == ENVELOPE
        self.run = run
        return self

    def transformWithState(self, *given):  # noqa: N802
        self.given = given
        return self


def test_in_one_batch_a_shard_gets_all_that_there_ever_is_and_then_the_end():
    frame = in_one_batch(now=5)(Frame(), Echo([], [7], frozenset()))
    given = [Envelope(7, "a", "arrival"), Envelope(7, "b", "mark")]
    table = pa.Table.from_batches(batches_of(given))
    made = frame.run((pa.scalar(7),), table)
    assert made.schema == ARROW
    found = [e for batch in made.to_batches() for e in envelopes_in(batch)]
    assert [(e.shard, e.node, e.value, e.split) for e in found] == [
        (7, "a", 5, "True"),
        (7, "b", 5, "True"),
    ]


@pytest.mark.parametrize(("clock", "mode"), [(True, "processingtime"), (False, "none")])
def test_with_state_spark_calls_each_shard_and_by_the_clock_where_that_is_needed(clock, mode):
    repairs = (Repair(3, 5),)
    frame = with_state(clock, "run", repairs)(Frame(), Stage([], [7], frozenset()))
    step, schema, output, timers = frame.given
    assert (schema, output, timers) == (ENVELOPE, "append", mode)
    assert isinstance(step, shuffles.Step)
    assert step.clock is clock
    assert (step.stage.run_id, step.stage.repairs) == ("run", repairs)
