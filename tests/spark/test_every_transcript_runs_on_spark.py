"""Every transcript gives on Spark the panes that it expects, lowered as any program is.

All of them share one query: a micro-batch runs a step of each, so that they take seconds.
"""

from __future__ import annotations

from pathlib import Path

import pytest

from millstream.testing import load
from millstream.testing.spark_groupings import Script, replay_scripts
from millstream.testing.transcripts import check_panes

FILES = sorted((Path(__file__).parent.parent / "transcripts").glob("*.yaml"))
TRANSCRIPTS = [transcript for file in FILES for transcript in load(file)]


@pytest.fixture(scope="module")
def replayed():
    panes = replay_scripts([Script(t.windowing, t.steps, t.aggregate) for t in TRANSCRIPTS])
    return {t.name: made for t, made in zip(TRANSCRIPTS, panes, strict=True)}


@pytest.mark.parametrize("transcript", TRANSCRIPTS, ids=lambda transcript: transcript.name)
def test_transcript(transcript, replayed):
    check_panes(transcript, replayed[transcript.name], "spark")
