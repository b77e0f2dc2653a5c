"""Changes in columns are those of one row after another, in whatever order rows arrive."""

from __future__ import annotations

import random

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from millstream.engine.changes import Changes
from millstream.engine.exchange.by_key import ByKey
from millstream.engine.operator import ROWS
from millstream.engine.state.in_memory import InMemoryStore
from millstream.engine.state.shard import Shard
from millstream.engine.state.store import ShardState

SHARDS = 2
ROW = st.tuples(
    st.sampled_from(["a", "b", None]),
    st.sampled_from([None, 0.0, -0.0, 1.5, float("nan")]),
    st.integers(0, 3),
)


class Job:
    """Shards of changes, whose state is bytes between batches; rows come through the exchange."""

    def __init__(self):
        self.operator = Changes(["key 0"], ["of 0"])
        self.stores = [InMemoryStore() for _ in range(SHARDS)]
        self.documents = [None] * SHARDS

    def batch(self, tasks):
        """What the shards emit; ``tasks`` have rows as (place, key, value, time)."""
        arrivals = [[] for _ in range(SHARDS)]
        for rows in tasks:
            exchange = ByKey(["key 0"], SHARDS)
            for shard, arrival in [*exchange.take(table(rows)), *exchange.rest()]:
                arrivals[shard].append(arrival)
        made = []
        for i, mine in enumerate(arrivals):
            state = ShardState(self.stores[i], self.documents[i])
            outputs = Shard(self.operator, state.of("changes")).step(mine, 0, 0)
            made += [
                row for each in outputs[ROWS] for row in each.sort("offset").iter_rows(named=True)
            ]
            self.documents[i] = state.document.to_json()
        return made

    @property
    def bytes(self):
        return [dict(store) for store in self.stores], list(self.documents)


def table(rows):
    columns = {
        "key 0": pl.Series([key for _, key, _, _ in rows], dtype=pl.String),
        "of 0": pl.Series([value for _, _, value, _ in rows], dtype=pl.Float64),
        "time": pl.Series([time for _, _, _, time in rows], dtype=pl.Int64),
        "origin": pl.Series(["topic"] * len(rows), dtype=pl.String),
        "split": pl.Series([split for (split, _), _, _, _ in rows], dtype=pl.String),
        "offset": pl.Series([offset for (_, offset), _, _, _ in rows], dtype=pl.Int64),
    }
    return pl.DataFrame(columns)


def expected(batches):
    """The places of rows that are changes, one row at a time."""
    last, changed = {}, []
    for rows in batches:
        for place, key, value, time in sorted(rows, key=lambda row: (row[3], row[0])):
            now = ("nan",) if value is not None and value != value else (value,)
            if last.get(key) != now:
                changed.append((place, key, time))
            last[key] = now
    return changed


@st.composite
def placed_batches(draw):
    batches = draw(st.lists(st.lists(ROW, max_size=12), max_size=4))
    offsets = iter(range(1000))
    return [
        [((str(draw(st.integers(0, 1))), next(offsets)), *row) for row in rows] for rows in batches
    ]


@given(placed_batches())
def test_changes_are_those_that_one_row_after_another_shows(batches):
    job = Job()
    made = [row for rows in batches for row in job.batch([rows])]
    found = [((row["split"], row["offset"]), row["key 0"], row["time"]) for row in made]
    assert sorted(found, key=repr) == sorted(expected(batches), key=repr)


@pytest.mark.parametrize("seed", range(5))
def test_however_rows_are_cut_into_tasks_and_shuffled_a_batch_gives_the_same_bytes(seed):
    rng = random.Random(seed)
    batches = [
        [
            ((str(rng.randrange(2)), n), rng.choice("ab"), rng.choice([0.0, 1.0]), rng.randrange(3))
            for n in range(20)
        ]
        for _ in range(3)
    ]
    whole, cut = Job(), Job()
    for rows in batches:
        tasks = [[] for _ in range(rng.randrange(1, 4))]
        for row in rows:
            rng.choice(tasks).append(row)
        for task in tasks:
            rng.shuffle(task)
        before = cut.bytes
        made = cut.batch(tasks)
        assert made == whole.batch([rows])
        assert cut.bytes == whole.bytes
        again = Job()
        again.stores = [InMemoryStore(store) for store in before[0]]
        again.documents = list(before[1])
        rng.shuffle(tasks)
        assert again.batch(tasks) == made
        assert again.bytes == cut.bytes
