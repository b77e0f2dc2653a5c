"""The watermarks that the rows of a partition move."""

from __future__ import annotations

import millstream as ms
from millstream.model.instants import END_OF_TIME
from millstream.spark.worker.marks import Follow, Marks


def follow(policy, mark="files/times"):
    return Follow("times", mark, "at", policy, None)


def values(marks, labels=(0,)):
    return [(e.shard, e.node, e.split, e.value) for e in marks.envelopes(labels)]


def test_a_watermark_is_its_disorder_behind_and_never_moves_back():
    marks = Marks()
    for time in (20, 50, 30, None):
        marks.move(follow(ms.bounded(1e-5)), "x", time)
    assert values(marks) == [(0, "files/times", "x", 40)]


def test_each_shard_gets_the_watermarks_of_all_splits():
    marks = Marks()
    marks.move(follow(ms.ascending()), "x", 1)
    marks.move(follow(ms.ascending()), "y", 2)
    assert len(values(marks, labels=(0, 1, 2))) == 6


def test_a_time_that_no_operator_follows_moves_nothing():
    marks = Marks()
    marks.move(follow(ms.ascending(), mark=None), "x", 1)
    assert values(marks) == []


def test_at_its_end_a_source_and_all_its_splits_are_at_the_end_of_time():
    marks = Marks()
    marks.move(follow(ms.ascending()), "x", 1)
    marks.end("files/times")
    assert {value for *_, value in values(marks)} == {END_OF_TIME}
    assert {split for _, _, split, _ in values(marks)} == {"", "x"}
