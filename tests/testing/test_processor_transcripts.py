"""Every transcript of a processor gives in this process what it expects, on both engines."""

from __future__ import annotations

import pytest

from millstream.testing import replay
from processor_transcripts import ProcessorTranscript, load_all

TRANSCRIPTS = load_all()


@pytest.mark.parametrize("engine", ["reference", "columnar"])
@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda each: each.name)
def test_transcript(transcript: ProcessorTranscript, engine: str) -> None:
    transcript.check(replay(transcript.stream, steps=transcript.steps, engine=engine))


def test_no_two_transcripts_have_the_same_name() -> None:
    assert len({each.name for each in TRANSCRIPTS}) == len(TRANSCRIPTS)
