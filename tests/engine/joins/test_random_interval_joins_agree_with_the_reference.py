"""Random interval joins give in columns what they give on the reference, step by step."""

from __future__ import annotations

import pytest

from millstream.testing import columnar_operator
from random_interval_joins import RandomIntervalJoins, trace

PROGRAMS = 700
PARTS = 4


@pytest.mark.parametrize("part", range(PARTS))
def test_random_programs_agree_step_by_step(part: int, monkeypatch: pytest.MonkeyPatch) -> None:
    # Each shard has an output watermark of its own, which rows of others do not hold.
    monkeypatch.setattr(columnar_operator, "SHARDS", 1)
    for seed in range(part, PROGRAMS, PARTS):
        drawn = RandomIntervalJoins(seed)
        stream, steps = drawn.program(), drawn.steps()
        expected = trace(stream, steps, "reference")
        assert trace(stream, steps, "columnar") == expected, f"seed {seed}: {steps}"
