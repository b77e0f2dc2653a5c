"""The interval join over shards: its state levels off, and a retried batch gives the same bytes."""

from __future__ import annotations

import numpy as np
import polars as pl
import pytest

import millstream as ms
from millstream.engine.operator import LATE, ROWS
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.physical.operators import spec_of
from millstream.physical.plan import physical
from millstream.testing import test_stream

SECOND = 1_000_000
HOWS = ["inner", "left", "right", "full", "semi", "anti"]


def spec_for(how: str, between=(-10, 5), refine=ms.discarding):
    left = test_stream("k bigint, a bigint, at double", event_time="at", name="left")
    right = test_stream("k bigint, b bigint, t double", event_time="t", name="right")
    joined = left.refine(refine).interval_join(right, on="k", between=between, how=how)
    plan = physical(joined.collect().sinks)
    (node,) = plan.levels
    return spec_of(plan, node, {})


class Job:
    """One shard of a join, whose state is bytes between batches."""

    def __init__(self, spec, store=None, document=None):
        self.spec, self.store, self.document = spec, InMemoryStore(store or {}), document

    def batch(self, left, right, watermark):
        arrivals = []
        for port, rows in (("left", left), ("right", right)):
            exchange = self.spec.exchange(port, 1)
            arrivals += [arrival for _, arrival in [*exchange.take(rows), *exchange.rest()]]
        state = ShardState(self.store, self.document)
        shard = Shard(self.spec.operator, state.of("join"))
        outputs = shard.step(arrivals, watermark * SECOND, 0)
        self.document = state.document.to_json()
        self.clocks = shard.clocks
        return outputs

    @property
    def rows(self):
        return sum(bucket.all_rows for bucket in self.clocks.buckets)


def table(keys, times, column):
    values = pl.struct(k=pl.Series(keys), at=pl.Series(times), **{column: pl.Series(times)})
    whole = pl.select(values.alias("values"))
    times = pl.Series(times, dtype=pl.Int64)
    return whole.with_columns(time=times, sign=pl.lit(1, pl.Int64)).with_columns(
        pl.Series("key 0", keys, pl.Int64)
    )


def random_batches(count, rows=200, seconds=5, seed=1):
    random = np.random.default_rng(seed)
    for number in range(count):
        begin = number * seconds * SECOND
        made = []
        for column in ("a", "b"):
            times = random.integers(begin, begin + seconds * SECOND, rows)
            made.append(table(random.integers(0, 20, rows), times, column))
        yield *made, number * seconds


@pytest.mark.parametrize("refine", [ms.discarding, ms.retracting])
@pytest.mark.parametrize("how", HOWS)
def test_endless_input_leaves_state_of_one_size(how, refine):
    job, rows, blobs = Job(spec_for(how, refine=refine)), [], []
    for left, right, watermark in random_batches(40):
        job.batch(left, right, watermark)
        rows.append(job.rows)
        blobs.append(len(job.store))
    # A side is kept at most 15 s after the watermark, in slices that go as a whole, and a batch
    # is 5 s: eight batches of 200 rows a side are more than there can be.
    assert max(rows[8:]) <= 8 * 200 * 2
    assert max(rows[30:]) <= max(rows[8:20]) * 1.1
    assert max(blobs[30:]) <= max(blobs[8:20]) + 4
    job.batch(*(next(iter(random_batches(1)))[0].clear() for _ in "lr"), 10_000)
    assert (job.rows, dict(job.store)) == (0, {})


@pytest.mark.parametrize("how", HOWS)
def test_a_retried_batch_gives_the_same_bytes(how):
    job = Job(spec_for(how, refine=ms.retracting))
    for left, right, watermark in random_batches(6, rows=60):
        again = Job(job.spec, dict(job.store), job.document)
        made = job.batch(left, right, watermark)
        repeated = again.batch(left, right, watermark)
        for tag in (ROWS, LATE):
            for one, other in zip(made[tag], repeated[tag], strict=True):
                assert one.equals(other)
        assert again.store == job.store
        assert again.document == job.document


def test_batch_by_batch_the_pairs_are_those_of_a_join_of_all_rows():
    job = Job(spec_for("inner"))
    lefts, rights, found = [], [], []
    for left, right, watermark in random_batches(8):
        found += job.batch(left, right, watermark - 5)[ROWS]
        lefts.append(left)
        rights.append(right)
    mine = pl.concat(lefts).select("key 0", "time")
    other = pl.concat(rights).select("key 0", other="time")
    apart = pl.col("other") - pl.col("time")
    expected = mine.join(other, on="key 0").filter(apart.is_between(-10 * SECOND, 5 * SECOND))
    pairs = pl.concat(found).select(
        k=pl.col("values").struct.field("k"),
        a=pl.col("values").struct.field("a"),
        b=pl.col("other").struct.field("b"),
    )
    assert pairs.height > 1000
    assert (
        pairs.sort("k", "a", "b").rows()
        == expected.select("key 0", "time", "other").sort("key 0", "time", "other").rows()
    )


def test_a_batch_reads_only_slices_whose_rows_may_meet_its_own():
    job = Job(spec_for("inner", between=(0, 8)))
    for left, right, _ in random_batches(10):
        job.batch(left, right, -100)  # nothing is let go of
    read = []
    job.store.read = lambda name: read.append(name) or job.store.get(name)
    job.batch(table([1], [30 * SECOND], "a"), table([1], [0], "b").clear(), -100)
    bounds = {tuple(map(int, name.split("/")[1].split(":"))) for name in read if ":" in name}
    # A left row at 30 meets right rows from 30 to 38.
    assert {side for side, _, _ in bounds} == {1}
    assert all(start <= 38 * SECOND and end > 30 * SECOND for _, start, end in bounds)
    assert len(bounds) == 9
