"""The engine inside a real Structured Streaming query gives the panes that transcripts expect."""

from __future__ import annotations

from pathlib import Path

import pytest

import millstream as ms
from millstream.testing import Elements, Watermark, load, replay, test_stream

FILES = sorted((Path(__file__).parent.parent / "transcripts").glob("*.yaml"))
# A micro-batch costs most of a second, so Spark runs a part of the short ones, from all files.
SHORT = [t for file in FILES for t in load(file) if len(t.steps) <= 6]
SOME = SHORT[::6]


def test_there_are_at_least_thirty_cases():
    assert len(SOME) >= 30


@pytest.mark.parametrize("transcript", SOME, ids=lambda transcript: transcript.name)
def test_transcript(transcript):
    transcript.check("spark")


def test_a_chain_of_groupings_advances_within_a_step():
    totals = (
        test_stream("key string, value int, at double", event_time="at")
        .key_by("key")
        .window(ms.fixed(10))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(total=ms.sum("value"))
    )
    keys = (
        totals.key_by("total")
        .window(ms.fixed(10))
        .trigger(ms.repeatedly(ms.after_count(1)))
        .refine(ms.retracting)
        .aggregate(keys=ms.collect_set("key"))
    )
    steps = [
        Elements([{"key": "a", "value": 5, "at": 1.0}, {"key": "b", "value": 5, "at": 2.0}]),
        Elements([{"key": "a", "value": 4, "at": 3.0}]),
        Watermark.end(),
    ]
    assert replay(keys, steps=steps, engine="spark") == replay(keys, steps=steps)
