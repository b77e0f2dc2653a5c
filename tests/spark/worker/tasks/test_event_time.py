"""Rows get their event time, and move the watermark that follows it."""

from __future__ import annotations

import polars as pl

import millstream as ms
from millstream.engine.rows import TIME, with_time
from millstream.spark.worker.counts import Counts
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.task import Task

S = 1_000_000


class Run:
    """A run whose clock says that nothing after ten seconds is right."""

    split = "x"

    def __init__(self):
        self.rejected, self.followed = [], []

    def reject(self, step, rows, tasks):
        self.rejected += rows["reason"].to_list()

    def latest(self, follow):
        return 10 * S

    def follow(self, follow, split, times):
        self.followed.append((split, times.to_list()))
        return int((times > 10 * S).sum())


class Keeps(Task):
    def take(self, rows, run):
        self.rows = rows


def times(policy, at=(1, None, 20)):
    last, run = Keeps(step="last"), Run()
    follow = Follow("times", "files/times", TIME, policy, 5 * S)
    task = Time(step="times", column="at", follow=follow, then=[last])
    table = pl.DataFrame({"at": at, "mark": [7, 8, None]})
    task.take(with_time(table), run)
    return last.rows[TIME].to_list(), run


def test_rows_without_a_time_are_rejected_and_others_move_the_watermark():
    kept, run = times(ms.ascending())
    assert kept == [S, 20 * S]
    assert run.followed == [("x", [S, 20 * S])]
    assert run.rejected == ["event time 'at': it is null"]


def test_rows_too_far_ahead_of_the_clock_are_rejected_if_they_are_to_be():
    kept, run = times(ms.ascending(ahead=5, on_ahead="reject"))
    assert kept == [S]
    assert "more than 5s ahead of the clock" in run.rejected[-1]


def test_a_punctuated_watermark_follows_its_column():
    _, run = times(ms.punctuated("mark"))
    assert run.followed == [("x", [7 * S, None])]


def test_numbers_that_are_likely_of_a_coarser_unit_are_counted():
    def counted(unit, *at):
        run = Run()
        run.counts = Counts()
        task = Time(step="times", column="at", unit=unit, follow=None, then=[Keeps(step="last")])
        task.take(with_time(pl.DataFrame({"at": at})), run)
        return [(each.split, each.value, each.payload) for each in run.counts.envelopes(0)]

    about = b"at = 1763400075 as milliseconds is in 1970, and looks like seconds: write unit='s'"
    assert counted("ms", 1_763_400_061, 1_763_400_075, None) == [("unit", 3, about)]
    assert counted("ms", 1_763_400_061_000, 1_763_400_075_000) == []
    assert counted("ms", 0, 5_000) == []
    assert counted("s", 1_763_400_061) == []
    ((_, _, about),) = counted("ns", 1_763_400_061_000_000)
    assert about.endswith(b"looks like microseconds: write unit='us'")
