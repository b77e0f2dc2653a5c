"""Processors with unusual state, keys and timers give on Spark what the reference gives."""

from __future__ import annotations

from millstream.testing import replay
from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.pipelines import checked_program
from odd_processors import ODD, STEPS


def test_odd_processors_give_the_rows_and_rejected_rows_of_the_reference():
    streams = [each.stream() for each in ODD]
    made = replay_programs([Program(checked_program(each.node), STEPS) for each in streams])
    for odd, stream, rows in zip(ODD, streams, made, strict=True):
        assert odd.seen(rows) == odd.seen(replay(stream, steps=STEPS)), odd.processor
