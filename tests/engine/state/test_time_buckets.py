"""Buckets of event time: what is added is written, what is old is let go of, unread."""

from __future__ import annotations

from collections import defaultdict

import polars as pl

from millstream.engine.operator import ROWS, Facts, Stepped
from millstream.engine.state.arrivals import Arrival
from millstream.engine.state.blobs import packed
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState


class Keep:
    """Keeps rows in slices of 10, each until the watermark is 10 past its end; emits what it reads.

    A row wakes its slice at its own time, and holds the watermark there until then.
    """

    order = ("time",)
    bucket = ("start",)
    deferral = None
    keys = ()

    def combined(self, tables):
        return pl.concat(tables)

    def ends(self, bucket):
        return bucket[0] + 20

    def reads(self, batches, buckets, awake):
        wanted = {(time,) for batch in batches.values() for time in batch["reads"].drop_nulls()}
        return (wanted & set(buckets)) | set(awake)

    def step(self, tables, batches, advance):
        outputs = defaultdict(list)
        found = tables.get("kept")
        if found is not None:
            outputs[ROWS].append(found)
        added = [b.select("time", start=pl.col("time") // 10 * 10) for b in batches.values()]
        rows = [*added, *([] if found is None else [found.select("time", "start")])]
        facts = {}
        for start, time in _pairs(rows):
            if time > advance.watermark:
                before = facts.get((start,), Facts())
                holds = min(before.holds or time, time)
                facts[start,] = Facts(min(before.wakes, time), None, holds)
        return Stepped({"kept": pl.concat(added)} if added else {}, outputs, facts)


def _pairs(tables):
    return [(row["start"], row["time"]) for table in tables for row in table.to_dicts()]


class Job:
    def __init__(self):
        self.store, self.document = InMemoryStore(), None

    def step(self, *rows, watermark=0):
        """What is read, as times and the watermarks at which their slices wake."""
        table = pl.DataFrame(rows, {"time": pl.Int64, "reads": pl.Int64}, orient="row")
        arrivals = [Arrival(packed(table), table.height)] if rows else []
        state = ShardState(self.store, self.document)
        shard = Shard(Keep(), state.of("keep"))
        outputs = shard.step(arrivals, watermark, 0)
        self.document, self.clocks = state.document.to_json(), shard.clocks
        return sorted(
            (row["time"], row["wakes"]) for each in outputs[ROWS] for row in each.to_dicts()
        )


def test_rows_are_added_as_parts_and_only_what_the_operator_asks_for_is_read():
    job = Job()
    assert job.step((5, None), (15, None)) == []
    assert job.step((6, None), (99, 10)) == [(15, 15)]
    assert job.step((7, 0)) == [(5, 5), (6, 5)]
    assert sorted(job.store) == [
        *(f"keep/0/kept+{n}" for n in range(3)),
        "keep/10/kept+0",
        "keep/90/kept+0",
    ]


def test_the_facts_of_a_bucket_are_those_of_all_its_rows():
    job = Job()
    job.step((8, None))
    job.step((5, None))
    (bucket,) = job.clocks.buckets
    assert (bucket.wakes, bucket.holds) == (5, 5)
    # At 5 the slice is awake: it is read, and what is left of it wakes it at 8.
    assert job.step(watermark=5) == [(5, 5), (8, 5)]
    (bucket,) = job.clocks.buckets
    assert (bucket.wakes, bucket.holds) == (8, 8)
    assert job.clocks.output_watermark == 5


def test_a_bucket_that_ends_is_removed_with_all_its_parts():
    job = Job()
    job.step((5, None), (25, None))
    job.step((6, None))
    job.step(watermark=7)
    assert len(job.store) == 3
    job.step(watermark=20)
    assert list(job.store) == ["keep/20/kept+0"]
    assert [bucket.name for bucket in job.clocks.buckets] == [(20,)]
