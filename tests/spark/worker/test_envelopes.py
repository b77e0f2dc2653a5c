"""What travels between the stages of a query."""

from __future__ import annotations

from unittest.mock import patch

import polars as pl

from millstream.spark.worker import envelopes
from millstream.spark.worker.envelopes import Envelope, batches_of, envelopes_in


def test_envelopes_read_back_as_they_were_written():
    given = [
        Envelope(1, "step", "mark", split="x", value=5),
        Envelope(0, "step", "arrival", 0, 10, 3, "here", 2, b"rows", "left"),
    ]
    (batch,) = batches_of(given)
    assert list(envelopes_in(batch)) == given


def test_many_envelopes_are_several_batches():
    with patch.object(envelopes, "_MOST_ENVELOPES", 2):
        sizes = [b.num_rows for b in batches_of(Envelope(0, "s", "mark") for _ in range(5))]
    assert sizes == [2, 2, 1]


def test_rows_are_packed_before_they_travel():
    rows = pl.DataFrame({"n": [1, 2]})
    sealed = Envelope(0, "step", "emit", rows=rows).sealed()
    assert sealed.rows is None
    assert sealed.table().equals(rows)
    assert sealed.sealed() is sealed
