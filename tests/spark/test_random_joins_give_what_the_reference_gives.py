"""Random joins, and chains with them, replayed on Spark, give the rows of the reference."""

from __future__ import annotations

import pytest

from agreement import seen
from millstream.testing import replay
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.panes import Rows
from millstream.testing.pipelines import checked_program
from random_joins import RandomJoins

TWO = ("retracting table", "retracting rows", "join of joins", "aggregate after")


def same(made, expected):
    if not isinstance(expected, Rows):
        assert seen(made) == seen(expected)
        return
    for mine, others in ((made, expected), (made.late, expected.late)):
        assert sorted(map(repr, mine)) == sorted(map(repr, others))


REGULAR = ("join of aggregates", "join of joins", "aggregate after")


def drawn_of(kind, shapes, first):
    for number, shape in enumerate(shapes, start=first):
        random = RandomJoins(number)
        draw = random.temporal if kind == "temporal" else random.regular
        yield draw(shape, number), random.steps(script=number)


@pytest.mark.parametrize(
    ("temporal", "regular"), [(("plain",) * 3, ("plain",) * 3), (TWO, REGULAR)]
)
def test_joins_give_the_rows_and_late_rows_of_the_reference(temporal, regular):
    drawn = [*drawn_of("temporal", temporal, 1), *drawn_of("regular", regular, 10)]
    made = replay_programs([Program(checked_program(s.node), steps) for s, steps in drawn])
    for (stream, steps), each in zip(drawn, made, strict=True):
        same(each, replay(stream, steps=steps))
