"""What a shard knows without reading its tables."""

from __future__ import annotations

import pytest

from millstream.engine.operator import Advance
from millstream.engine.state.document import Bucket, Clocks, Document, Part


def test_a_document_reads_back_as_it_was_written():
    bucket = Bucket((0, 10), ["panes"], rows=3, size=40, wakes=10, due=5, holds=9)
    bucket.lane("rows", None).parts.append(Part(1, 2, 30))
    document = Document(timer=8, operators={"step": Clocks(watermark=4, buckets=[bucket])})
    assert Document.from_json(document.to_json()) == document


def test_a_document_of_another_format_is_refused():
    text = Document().to_json().replace(b'"version":', b'"version":9')
    with pytest.raises(ValueError, match="a state of format 9"):
        Document.from_json(text)


def test_a_bucket_counts_what_waits_beside_it():
    bucket = Bucket((3,), rows=3, size=40)
    bucket.lane("rows", 1).parts.append(Part(0, 2, 30))
    assert (bucket.all_rows, bucket.all_bytes) == (5, 70)
    assert bucket.lane("rows", 1) is bucket.lanes[0]


@pytest.mark.parametrize(
    ("watermark", "now", "happens"), [(10, 0, True), (9, 5, False), (9, 6, True)]
)
def test_something_happens_at_the_watermark_or_after_the_deadline(watermark, now, happens):
    assert Bucket((3,), wakes=10, due=5).happens(Advance(0, watermark, 0, now)) is happens
