"""The number and the clock of a batch, from Spark's offset log to the tasks of the batch.

A retried batch has the same clock as before: Spark notes it in the checkpoint before the batch
begins. It travels as a setting of the session, which Spark hands to each task as it does with its
own. That costs nothing for each row, unlike a column; it needs no recompiled code in each batch,
unlike a literal; and it works alike with Spark Connect, where a program cannot set properties of
the thread that runs a batch.
"""

from __future__ import annotations

from dataclasses import dataclass

from pyspark import TaskContext
from pyspark.sql import SparkSession

from millstream.spark.compat.offset_log import entry_of
from millstream.system.folders import Folder


@dataclass(frozen=True, slots=True)
class Moment:
    """When a batch is: its number, and its clock in microseconds."""

    batch: int
    clock: int


def announce(session: SparkSession, run: str, checkpoint: str, batch: int) -> None:
    """Lets the tasks of a batch, which begins now, know when it is."""
    clock = entry_of(Folder.of("checkpoint", checkpoint), batch).clock
    announce_moment(session, run, Moment(batch, clock * 1000))


def announce_moment(session: SparkSession, run: str, moment: Moment) -> None:
    """The same for a moment that is known: a test sets the clock of each batch."""
    session.conf.set(_setting(run), f"{moment.batch} {moment.clock}")


def of_this_task(run: str) -> Moment:
    """When the batch is that the task, of the job of that run, is part of."""
    context = TaskContext.get()
    noted = context.getLocalProperty(_setting(run)) if context else None
    assert noted is not None, "Spark did not hand the clock of the batch to its task"
    batch, clock = map(int, noted.split())
    return Moment(batch, clock)


def _setting(run: str) -> str:
    return f"spark.millstream.{run}.moment"
