"""Tasks hand rows on, and end in the order in which they do."""

from __future__ import annotations

import polars as pl

from millstream.spark.worker.tasks.task import RejectingTask, Task, in_order


class Keeps(Task):
    def take(self, rows, run):
        self.kept = rows


def test_rows_go_to_all_that_follow_and_none_are_not_given():
    both = [Keeps(step="a"), Keeps(step="b")]
    task = Task(step="first", then=both)
    task.take(pl.DataFrame({"n": []}), None)
    assert not any(hasattr(each, "kept") for each in both)
    task.take(pl.DataFrame({"n": [1]}), None)
    assert all(each.kept.height == 1 for each in both)


def test_each_task_comes_before_those_that_it_gives_rows_to():
    last = Task(step="last")
    rejected = Task(step="rejected", then=[last])
    middle = RejectingTask(step="middle", then=[last], rejected=[rejected])
    first = Task(step="first", then=[middle, last])
    order = [task.step for task in in_order([last, middle, rejected, first])]
    assert sorted(order) == ["first", "last", "middle", "rejected"]
    assert order.index("first") < order.index("middle") < order.index("rejected")
    assert order[-1] == "last"
