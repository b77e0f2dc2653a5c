"""Every transcript of a processor gives on Spark what it expects; all of them share one query."""

from __future__ import annotations

import pytest

from millstream.testing.on_spark import Program, replay_programs
from millstream.testing.pipelines import checked_program
from processor_transcripts import ProcessorTranscript, load_all

TRANSCRIPTS = load_all()


@pytest.fixture(scope="module")
def replayed():
    programs = [Program(checked_program(each.stream.node), each.steps) for each in TRANSCRIPTS]
    made = replay_programs(programs)
    return {each.name: rows for each, rows in zip(TRANSCRIPTS, made, strict=True)}


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda each: each.name)
def test_transcript(transcript: ProcessorTranscript, replayed):
    transcript.check(replayed[transcript.name])
