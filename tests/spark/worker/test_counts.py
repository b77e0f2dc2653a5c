"""What a partition counts for the job's progress."""

from __future__ import annotations

from millstream.spark.worker.counts import Counts


def test_counts_add_up_and_nothing_is_not_counted():
    counts = Counts()
    counts.add("files", "read", 2)
    counts.add("files", "read", 3)
    counts.add("files", "rejected", 0)
    (envelope,) = counts.envelopes(7)
    assert (envelope.shard, envelope.node, envelope.split, envelope.value) == (
        7,
        "files",
        "read",
        5,
    )


def test_the_farthest_time_and_the_first_reason_travel_along():
    counts = Counts()
    counts.add_ahead("times", 1, 50, "split 1")
    counts.add_ahead("times", 2, 90, "split 2")
    counts.add_ahead("times", 1, 70, "split 3")
    counts.add("times", "rejected", 4)
    counts.example("times", "first")
    counts.example("times", "second")
    ahead, rejected = counts.envelopes(0)
    assert (ahead.value, ahead.start, ahead.payload) == (4, 90, b"split 2")
    assert (rejected.value, rejected.payload) == (4, b"first")


def test_the_first_guess_at_another_unit_travels_along():
    counts = Counts()
    counts.add_unit("times", 3, "seconds")
    counts.add_unit("times", 2, "other seconds")
    (envelope,) = counts.envelopes(0)
    assert (envelope.split, envelope.value, envelope.payload) == ("unit", 5, b"seconds")
