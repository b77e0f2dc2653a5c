"""The soak finds a difference between engines, makes it small and keeps it as a transcript."""

from __future__ import annotations

from millstream.reference.groups import reference_groups
from millstream.testing import load
from millstream.testing.engines import ENGINES
from millstream.testing.transcript_text import text_of
from soak import one_round


def test_engines_that_agree_give_no_transcript():
    assert one_round(1, examples=20) is None


def test_a_difference_is_kept_as_a_small_transcript(monkeypatch, tmp_path):
    def deaf_to_the_clock(windowing, columns, takes_retractions):
        groups = reference_groups(windowing, columns, takes_retractions)
        take = groups.take
        groups.take = lambda elements, watermark, now: take(elements, watermark, 0)
        return groups

    monkeypatch.setitem(ENGINES, "columnar", deaf_to_the_clock)
    found = one_round(1, examples=100)
    assert found is not None
    assert len(found.steps) <= 4
    path = tmp_path / "found.yaml"
    path.write_text(text_of(found))
    (again,) = load(path)
    again.check("reference")
