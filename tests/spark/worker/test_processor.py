"""A shard as Spark calls it: its state is one variable, and one timer wakes it."""

from __future__ import annotations

import pickle
from types import SimpleNamespace

import polars as pl
import pytest
from pyspark.sql import Row

import millstream as ms
from millstream.physical.operators import spec_of
from millstream.physical.plan import physical
from millstream.spark.worker import processor
from millstream.spark.worker.envelopes import NAMES, Envelope
from millstream.spark.worker.processor import Step
from millstream.spark.worker.stateful_stage import Stage
from millstream.testing import test_stream

S = 1_000_000


class Handle:
    """Spark's side: a map of blobs, and timers in milliseconds."""

    def __init__(self):
        self.blobs: dict[tuple, tuple] = {}
        self.timers: set[int] = set()
        self.registerTimer, self.deleteTimer = self.timers.add, self.timers.remove

    def getMapState(self, name, key, value):  # noqa: N802 - Spark's name
        assert name == "tables"
        return SimpleNamespace(
            getValue=self.blobs.get,
            updateValue=self.blobs.__setitem__,
            removeKey=self.blobs.pop,
        )


class Counts:
    """Counts by key and window, early ones five seconds after the first element of a pane."""

    def __init__(self, clock):
        early = ms.repeatedly(ms.after_delay(5))
        rows = test_stream("key string, at double", event_time="at", name="rows").key_by("key")
        rows = rows.window(ms.fixed(10)).trigger(ms.at_watermark(early=early))
        plan = physical(rows.aggregate(n=ms.count()).named("counts").collect("n").sinks)
        (node,) = plan.levels
        self.spec = spec_of(plan, node, {})
        (self.mark,) = plan.origins(node)
        self.clock = clock
        self.step = Step(Stage([self.spec], [7], frozenset()), clock)
        self.handle = Handle()

    def call(self, seconds, rows=None):
        """What one call emits; without rows, it is one by the timer."""
        step = pickle.loads(pickle.dumps(self.step))  # in each batch it comes to the worker anew
        step.init(self.handle)
        now = SimpleNamespace(getCurrentProcessingTimeInMs=lambda: seconds * 1000)
        if rows is None:
            self.handle.timers.clear()  # Spark forgets a timer that has expired
            made = list(step.handleExpiredTimer((7,), now, None))
        else:
            given = (Row(**{name: getattr(e, name) for name in NAMES}) for e in rows)
            made = list(step.handleInputRows((7,), given, now))
        found = [Envelope(*row).table() for row in made if row.kind == "emit"]
        return [count for table in found for count in table["value 0"]]

    def elements(self, *times):
        exchange = self.spec.exchange("rows", 1)
        table = pl.DataFrame({"key 0": "a", "time": [time * S for time in times], "sign": 1})
        for _, arrival in [*exchange.take(table), *exchange.rest()]:
            start, end = arrival.bucket or (None, None)
            place = arrival.rows, "here", arrival.lane, arrival.blob
            yield Envelope(7, "counts", "arrival", start, end, *place)


def test_what_a_batch_leaves_in_the_state_the_next_one_finds():
    counts = Counts(clock=False)
    assert counts.call(0, counts.elements(1, 2)) == []
    end = Envelope(7, counts.mark, "mark", split="", value=10 * S)
    assert counts.call(0, [*counts.elements(3), end]) == [3]
    assert counts.handle.timers == set()


def test_a_timer_is_set_for_when_something_is_next_due_and_moved_with_it():
    counts = Counts(clock=True)
    counts.call(1, counts.elements(1))
    (timer,) = counts.handle.timers
    assert 6_000 < timer <= 6_002
    counts.call(2, counts.elements(2))
    assert counts.handle.timers == {timer}, "the delay runs from the first element"
    assert counts.call(7) == [2]
    assert counts.handle.timers == set()


def test_a_timer_that_is_no_longer_needed_is_deleted():
    counts = Counts(clock=True)
    counts.call(1, counts.elements(1))
    end = Envelope(7, counts.mark, "mark", split="", value=10 * S)
    assert counts.call(2, [end]) == [1]
    assert counts.handle.timers == set()


def test_a_stage_is_made_ready_once_for_all_batches():
    step = Counts(clock=False).step
    again = pickle.loads(pickle.dumps(step))
    assert again.stage is step.stage


def test_a_task_that_ends_leaves_its_connection_to_spark(monkeypatch):
    left = []
    monkeypatch.setattr(processor, "leave_open", left.append)
    monkeypatch.setattr(processor, "collect_rarely", lambda: None)
    step, handle = Counts(clock=False).step, Handle()
    step.init(handle)
    step.close()
    assert left == [handle]


@pytest.mark.parametrize("name", ["a/b", "document"])
def test_blobs_are_kept_read_and_removed_by_name(name):
    tables = processor.SparkStore(Handle().getMapState("tables", None, None))
    assert tables.read(name) is None
    tables.write(name, b"1")
    assert tables.read(name) == b"1"
    tables.remove(name)
    assert tables.read(name) is None
