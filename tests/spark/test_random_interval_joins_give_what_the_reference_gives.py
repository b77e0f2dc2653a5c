"""Random interval joins and chains with them, replayed on Spark, give the rows of the reference."""

from __future__ import annotations

import pytest

from agreement import seen
from millstream.testing import replay
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.panes import Rows
from millstream.testing.pipelines import checked_program
from random_interval_joins import RandomIntervalJoins


@pytest.mark.parametrize(
    "shapes",
    [["plain"] * 8, ["retracting left", "retracting right", "join of joins", "aggregate after"]],
)
def test_programs_give_the_rows_and_late_rows_of_the_reference(shapes):
    drawn = []
    for number, shape in enumerate(shapes):
        random = RandomIntervalJoins(number, script=number)
        drawn.append((random.program(shape), random.steps(most=6)))
    made = replay_programs([Program(checked_program(s.node), steps) for s, steps in drawn])
    for (stream, steps), each in zip(drawn, made, strict=True):
        expected = replay(stream, steps=steps)
        if isinstance(expected, Rows):
            assert sorted(map(repr, each)) == sorted(map(repr, expected))
            assert sorted(map(repr, each.late)) == sorted(map(repr, expected.late))
        else:
            assert seen(each) == seen(expected)
