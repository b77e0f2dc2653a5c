"""What buckets share: compared with buckets that have all of their rows, and what is read of it."""

from __future__ import annotations

import json
from unittest.mock import patch

import msgspec
import polars as pl
from hypothesis import given, settings
from hypothesis import strategies as st

import millstream as ms
from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.compiled import Compiled
from millstream.engine.grouping.operator import sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import LATE, ROWS, row_count
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState
from millstream.model.instants import END_OF_TIME
from millstream.model.windowing import Windowing

SECOND = 1_000_000
PANE = ["key", "start", "end", "n", "sum", "timing", "index", "last"]


class Job:
    """One shard, whose windows share slices, or have each its rows."""

    def __init__(self, **windowing):
        self.windowing = Windowing(**windowing)
        self.store, self.document, self.reads = InMemoryStore(), None, []

    def step(self, rows, watermark, shares=True, put_back=None):
        """The panes, how many rows were late, and the output watermark."""
        if not shares:
            with patch.object(Compiled, "slices", None):
                return self._step(rows, watermark, put_back)
        return self._step(rows, watermark, put_back)

    def _step(self, rows, watermark, put_back):
        table = pl.DataFrame(rows, schema={"key": pl.String, "time": pl.Int64}, orient="row")
        table = table.with_columns(pl.col("time").alias("value"), sign=1)
        aggregated = [Aggregated("n", ms.count()), Aggregated("sum", ms.sum("value"), "value")]
        grouping = sharded(self.windowing, ["key"], aggregated, keeps_late=False)
        scatter = Scatter(grouping, ["key"], 1)
        arrivals = [a for _, a in [*scatter.take(table), *scatter.rest()]]
        state = ShardState(self, self.document)
        shard = Shard(grouping, state.of("n"))
        if put_back is not None:
            shard.put_back(put_back)
        outputs = shard.step(arrivals, watermark, 0)
        self.document = state.document.to_json()
        panes = sorted(row for t in outputs[ROWS] for row in t.select(PANE).rows())
        return panes, sum(map(row_count, outputs[LATE])), shard.clocks.output_watermark

    def read(self, name):
        self.reads.append(name)
        return self.store.read(name)

    def write(self, name, blob):
        self.store.write(name, blob)

    def remove(self, name):
        self.store.remove(name)


STEPS = st.lists(
    st.tuples(
        st.lists(st.tuples(st.sampled_from("ab"), st.integers(-30, 30)), max_size=4),
        st.integers(0, 15),
        st.sampled_from([None, None, None, 10]),
    ),
    max_size=15,
)


@settings(max_examples=200)
@given(
    st.integers(2, 30),
    st.integers(1, 9),
    st.sampled_from([0, 7]),
    STEPS,
    st.integers(0, 15),
)
def test_windows_that_share_have_the_panes_of_those_that_do_not(size, period, late, steps, before):
    """Also where watermarks are put back, and where windows have begun to share only now."""
    window = ms.sliding(size * 1e-6, period * 1e-6)
    plain, sharing = (Job(window=window, allowed_lateness=late) for _ in range(2))
    watermark = 0
    for number, (rows, moved, back) in enumerate([*steps, ([], END_OF_TIME, None)]):
        put_back = None if back is None else watermark - back
        watermark = moved + (watermark if put_back is None else put_back)
        timed = [(key, watermark - moved + ahead) for key, ahead in rows]
        step = timed, min(watermark, END_OF_TIME)
        expected = plain.step(*step, shares=False, put_back=put_back)
        assert sharing.step(*step, shares=number >= before, put_back=put_back) == expected
    assert not sharing.store


def job_of_an_hour():
    """A row in each second of an hour, which has ended."""
    job = Job(window=ms.sliding("1h", "1s"))
    job.step([("a", second * SECOND) for second in range(3600)], 3600 * SECOND)
    job.step([("a", 3600 * SECOND)], 3601 * SECOND)
    return job


def test_a_window_that_ends_reads_the_ends_of_what_it_has_and_the_rest_as_one():
    job = job_of_an_hour()
    job.reads = []
    ((_, start, end, n, *_),), _, _ = job.step([("a", 3601 * SECOND)], 3602 * SECOND)
    assert (start, end, n) == (2 * SECOND, 3602 * SECOND, 3600)
    # A stretch has 64 seconds: of 57 stretches, only the first and the last are cut.
    assert sum(name.endswith("/whole") for name in job.reads) == 55
    assert {name.split("/")[1] for name in job.reads if not name.endswith("/whole")} == {"0", "56"}


def test_rows_that_wait_are_added_to_their_stretch_and_nothing_is_read():
    job = job_of_an_hour()
    job.reads, held = [], dict(job.store)
    job.step([("a", 3700 * SECOND), ("b", 3700 * SECOND)], 3601 * SECOND)
    assert job.reads == []
    assert job.store.keys() - held.keys() == {"n/57/rows+0"}


def test_a_row_behind_the_watermark_is_late_for_windows_that_have_ended_and_in_all_others():
    job = job_of_an_hour()
    _, late, _ = job.step([("a", 1800 * SECOND)], 3601 * SECOND)
    assert late == 1801  # the windows that start from -1799 to 1
    ((*_, n, total, _, _, _),), _, _ = job.step([], 3602 * SECOND)
    assert (n, total) == (3600, (sum(range(2, 3601)) + 1800) * SECOND)


def test_a_state_without_stretches_is_read():
    job = Job(window=ms.sliding(10, 1))
    job.step([("a", 0)], 0, shares=False)
    document = json.loads(job.document)
    del document["operators"]["n"]["shared"]
    job.document = msgspec.json.encode({**document, "version": 4})
    panes, _, _ = job.step([("a", 0)], END_OF_TIME)
    assert [(n, total) for *_, n, total, _, _, _ in panes] == [(2, 0)] * 10
