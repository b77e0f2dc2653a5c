"""Regular joins in columns give what the reference gives; their state levels off."""

from __future__ import annotations

import pytest

from millstream.reference.rows import Row
from millstream.testing import columnar_operator, test_stream
from millstream.testing.columnar_operator import ColumnarOperator
from random_joins import RandomJoins, trace

PROGRAMS = 240
PARTS = 3


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_agree_step_by_step(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shard has an output watermark of its own, which rows of others do not hold.
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    for seed in range(part, PROGRAMS, PARTS):
        drawn = RandomJoins(seed)
        stream, steps = drawn.regular(), drawn.steps()
        expected = trace(stream, steps, "reference")
        assert trace(stream, steps, "columnar") == expected, f"seed {seed}: {steps}"


def test_state_levels_off_with_a_ttl() -> None:
    """A row of each of ten keys on each side at each second: those of 2 ttl are kept."""
    left = test_stream("k int, at double", event_time="at", name="left")
    right = test_stream("k int, on double", event_time="on", name="right")
    operator = ColumnarOperator(left.join(right, on="k", how="full", ttl=3e-6).node)
    sizes = []
    for time in range(40):
        rows = {
            side: [Row({"k": k, name: 0.0}, time, place=("source", k)) for k in range(10)]
            for side, name in (("left", "at"), ("right", "on"))
        }
        operator.step(rows, time, 0)
        clocks = [state.of(operator.node.name).clocks for state in operator.states]
        sizes.append(sum(b.all_rows for each in clocks for b in each.all_buckets))
    assert sizes[-1] == 2 * 10 * (2 * 3 + 1)
    assert len(set(sizes[10:])) == 1
    operator.step({"left": [], "right": []}, 100, 0)
    clocks = [state.of(operator.node.name).clocks for state in operator.states]
    assert not any(each.all_buckets for each in clocks)
