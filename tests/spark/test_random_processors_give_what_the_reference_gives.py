"""Random processors and chains with them, replayed on Spark, give the rows of the reference."""

from __future__ import annotations

import pytest

from agreement import seen
from millstream.testing import replay
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.panes import Rows
from millstream.testing.pipelines import checked_program
from random_processors import RandomPrograms


def emitted(rows):
    """What was emitted for each key, in order: in which order keys have their turns is open."""
    found = {}
    for row in rows:
        found.setdefault((row.step, row.values["k"]), []).append(row)
    return found


def same(made, expected):
    assert sorted(map(repr, made.late)) == sorted(map(repr, expected.late))
    rejected = [sorted(map(repr, each.rejected)) for each in (made, expected)]
    assert rejected[0] == rejected[1]
    if not isinstance(expected, Rows):
        assert seen(made) == seen(expected)
        return
    assert emitted(made) == emitted(expected)
    assert emitted(made.outputs["alerts"]) == emitted(expected.outputs["alerts"])


@pytest.mark.parametrize(
    ("shape", "programs"),
    [("one", 32), ("two", 4), ("after a grouping", 4), ("before a grouping", 4)],
)
def test_programs_give_the_rows_late_rows_and_rejected_ones_of_the_reference(shape, programs):
    drawn = []
    for number in range(programs):
        random = RandomPrograms(number)
        stream = random.program(shape, script=number)
        drawn.append((stream, random.steps(script=number)))
    made = replay_programs([Program(checked_program(s.node), steps) for s, steps in drawn])
    for (stream, steps), each in zip(drawn, made, strict=True):
        same(each, replay(stream, steps=steps))
