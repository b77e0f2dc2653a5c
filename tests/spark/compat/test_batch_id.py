"""A task learns the number of its batch from Spark, or does not run."""

from __future__ import annotations

from types import SimpleNamespace

import pytest
from pyspark import TaskContext

from millstream.model.errors import RunError
from millstream.spark.compat.batch_id import batch_of_this_task


@pytest.mark.parametrize(
    "context",
    [None, SimpleNamespace(getLocalProperty={}.get)],
    ids=["in no task", "in a task of no batch"],
)
def test_without_its_number_a_batch_could_be_taken_for_another(context, monkeypatch):
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    with pytest.raises(RunError, match=r"MS206.*streaming\.sql\.batchId"):
        batch_of_this_task()


def test_the_number_is_that_of_the_task(monkeypatch):
    context = SimpleNamespace(getLocalProperty={"streaming.sql.batchId": "12"}.get)
    monkeypatch.setattr(TaskContext, "get", staticmethod(lambda: context))
    assert batch_of_this_task() == 12
