"""Temporal joins in columns give what the reference gives; their state levels off."""

from __future__ import annotations

from random import Random
from typing import Any

import polars as pl
import pytest

from millstream.engine.joins.temporal import TemporalJoin
from millstream.engine.operator import Advance
from millstream.plan.operators.two_sides import TwoSides
from millstream.reference.rows import Row
from millstream.testing import columnar_operator, test_stream
from millstream.testing.columnar_operator import ColumnarOperator
from random_joins import RandomJoins, trace

PROGRAMS = 360
PARTS = 3


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_agree_step_by_step(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shard has an output watermark of its own, which rows of others do not hold.
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    for seed in range(part, PROGRAMS, PARTS):
        drawn = RandomJoins(seed)
        stream, steps = drawn.temporal(), drawn.steps()
        expected = trace(stream, steps, "reference")
        assert trace(stream, steps, "columnar") == expected, f"seed {seed}: {steps}"


def priced(**how: Any) -> TwoSides:
    rows = test_stream("k int, at double", event_time="at", name="rows")
    versions = test_stream("k int, p int, since double", event_time="since", name="versions")
    node = rows.temporal_join(versions, on="k", **how).node
    assert isinstance(node, TwoSides)
    return node


def row(values: dict[str, Any], time: int, number: int = 0) -> Row:
    return Row(values, time, place=("source", number))


@pytest.mark.parametrize(
    ("how", "most"),
    [
        ({}, 10 + 2 * 10 + 4 * 10),
        ({"tolerance": 0}, 10 + 2 * 10 + 4 * 10),
        ({"direction": "forward", "tolerance": 2e-6}, 3 * 10 + 3 * 20 + 4 * 10),
    ],
)
def test_state_levels_off_under_endless_versions_and_rows(how: dict[str, Any], most: int) -> None:
    """A version of each of ten keys and a row at each microsecond, of which two are open."""
    join = ColumnarOperator(priced(**how))
    sizes = []
    for time in range(60):
        versions = [row({"k": k, "p": time, "since": 0.0}, time, k) for k in range(10)]
        rows = [row({"k": k, "at": 0.0}, time, k) for k in range(10)]
        made = join.step({"left": rows, "right": versions}, time - 1, 0)
        assert time < 5 or len(made.rows["rows"]) == 10
        clocks = [state.of(join.node.name).clocks for state in join.states]
        sizes.append(sum(b.all_rows for each in clocks for b in each.all_buckets))
    assert max(sizes[10:]) <= most
    assert len(set(sizes[10:])) == 1


def test_a_key_that_is_deleted_leaves_nothing_behind() -> None:
    join = ColumnarOperator(priced(deleted="p IS NULL"))
    for time in range(20):
        versions = [row({"k": time, "p": 1, "since": 0.0}, 2 * time)]
        versions += [row({"k": time, "p": None, "since": 0.0}, 2 * time + 1, 1)]
        join.step({"left": [], "right": versions}, 2 * time, 0)
    touched = [row({"k": k, "p": None, "since": 0.0}, 100, k) for k in range(20)]
    join.step({"left": [], "right": touched}, 100, 0)
    clocks = [state.of(join.node.name).clocks for state in join.states]
    assert sum(b.all_rows for each in clocks for b in each.all_buckets) == 20


def test_versions_at_the_watermark_stay_for_rows_and_retractions_of_that_time() -> None:
    join = TemporalJoin(["key 0"], "left", "forward", grace=0, tolerance=0)
    version = pl.DataFrame({"bucket": [0], "key 0": [1], "time": [5], "values": [{"p": 1}]})
    kept = join.step({"versions": version}, {}, Advance(0, 5, 0, 0)).tables
    assert kept["versions"].height == 1
    assert not join.step(kept, {}, Advance(5, 6, 0, 0)).tables


@pytest.mark.parametrize("seed", range(5))
def test_however_rows_are_shuffled_a_step_gives_the_same_bytes(seed: int) -> None:
    random = Random(seed)
    join, other = ColumnarOperator(priced(how="left")), ColumnarOperator(priced(how="left"))
    for step in range(4):
        sides = {
            "left": [row({"k": random.randrange(3), "at": 0.0}, step * 5 + n, n) for n in range(9)],
            "right": [
                row({"k": random.randrange(3), "p": n, "since": 0.0}, step * 5 + n % 3, n)
                for n in range(9)
            ],
        }
        shuffled = {side: random.sample(rows, len(rows)) for side, rows in sides.items()}
        made, again = (each.step(given, step * 5 + 4, 0)
                       for each, given in ((join, sides), (other, shuffled)))  # fmt: skip
        assert made == again
        assert join.stores == other.stores
