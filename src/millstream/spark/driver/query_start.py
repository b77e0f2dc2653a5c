"""Starts a program as a streaming query of Spark, from where its checkpoint is."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from millstream.physical.plan import Physical
from millstream.plan.lookup import Lookup
from millstream.spark.driver.checkpoint import Checkpoint
from millstream.spark.driver.repairs import repairs_in
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.program import lower
from millstream.spark.lower.shuffles import with_state
from millstream.spark.sources.kafka import Topics
from millstream.spark.sources.kafka_starts import starts_of
from millstream.spark.sources.reading import reader
from millstream.spark.worker.lookup_versions import LookupVersions

_BY_CLOCK = "500 milliseconds"


class QueryStart:
    """A lowered program that can be started, and started again after the loss of a process.

    ``ends`` says that its sources end, ``by_clock`` that Spark runs batches without new data, too.
    """

    def __init__(
        self,
        name: str,
        plan: Physical,
        spark: SparkSession,
        checkpoint: Checkpoint,
        every: str | None,
        topics: Mapping[str, Topics],
        remote: bool,
    ) -> None:
        self.ends = all(source.bounded for source in plan.sources)
        self.by_clock = plan.needs_clock
        repairs = repairs_in(checkpoint.folder)
        self.announces_clock = plan.reads_clock or bool(repairs)
        self._name = name
        self._folder = checkpoint.folder
        # By the clock, Spark begins a batch whether or not there is something new.
        self._every = every or (_BY_CLOCK if self.by_clock else None)
        rows = f"{checkpoint.folder}/rows"
        starts = starts_of(topics, checkpoint.folder)
        read = reader(spark, plan, True, rows, topics, checkpoint.file_tasks, starts)
        lowering = Lowering(
            plan=plan,
            labels=checkpoint.labels,
            run=checkpoint.run,
            owner=checkpoint.fence.owner,
            ending=True,
            versions=None if remote else checkpoint.folder,
            splits={n: each.splits for n, each in topics.items() if not each.source.bounded},
        )
        shuffle = with_state(self.by_clock, checkpoint.run, repairs)
        lowered = lower(lowering, read, shuffle, apart=remote or not _tasks_know_their_batch())
        self.last = lowered.last
        lookups = {i.node.name: i.node for i in plan.instances if isinstance(i.node, Lookup)}
        self.lookups = LookupVersions(
            [] if remote else list(lookups.values()), checkpoint.run, checkpoint.folder
        )
        self._frame = lowered.frame

    def start(self, batch: Callable[[DataFrame, int], None]) -> StreamingQuery:
        """Starts the query; ``batch`` is called with the frame and the number of each batch."""
        writer = self._frame.writeStream.outputMode("append").queryName(self._name)
        writer = writer.option("checkpointLocation", f"{self._folder}/spark")
        if self.ends:
            writer = writer.trigger(availableNow=True)
        elif self._every:
            writer = writer.trigger(processingTime=self._every)
        return writer.foreachBatch(batch).start()


def _tasks_know_their_batch() -> bool:
    """Whether Spark gives tasks its number: a thread's properties need Java's thread for it."""
    return os.environ.get("PYSPARK_PIN_THREAD", "true").lower() == "true"
