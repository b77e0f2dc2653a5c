"""A job in a sentence."""

from __future__ import annotations

from job_reports import BUSY, LONG, batch, progress_of
from millstream.jobs.summary import summary


def test_a_summary_is_a_sentence():
    reports = [batch(n, rows=500_000, written={"totals": 602}, late={"x": n}) for n in range(2)]
    assert summary(progress_of(*reports)) == (
        "read 1,000,000 rows in 2 batches, wrote 1,204 rows to 'totals', 1 late, 0 rejected"
    )


def test_a_summary_names_the_steps_where_there_are_several():
    assert summary(BUSY) == (
        "read 1,200,000 rows in 30 batches, "
        f"wrote 3,030 rows to 'totals', 90 rows to 'best' and 0 rows to '{LONG}', "
        "90 late (30 in 'aggregate-1' and 60 in 'aggregate-2'), 60 rejected in 'parse'"
    )


def test_a_summary_of_very_many_sinks_stays_short():
    text = summary(progress_of(batch(written={f"s{n}": n for n in range(30)})))
    assert "4 rows to 's4' and 25 more, 0 late" in text
