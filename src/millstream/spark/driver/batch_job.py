"""Runs a program as one batch query, over sources that end."""

from __future__ import annotations

import time
from collections.abc import Mapping

from pyspark.sql import SparkSession

from millstream.physical.plan import Physical
from millstream.sinks.kinds import sinks_of
from millstream.spark.batches.commits import written
from millstream.spark.driver.failures import explained, recognised
from millstream.spark.driver.ledger import Ledger
from millstream.spark.driver.restarts import never_restarted
from millstream.spark.driver.shard_count import input_bytes, partitions_of, shards_of
from millstream.spark.driver.shard_labels import labels_of
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.program import lower
from millstream.spark.lower.shuffles import in_one_batch
from millstream.spark.sources.kafka import Topics, check_unchanged
from millstream.spark.sources.reading import reader
from millstream.spark.worker.batch_clock import Moment


def run_batch(
    plan: Physical,
    spark: SparkSession,
    ledger: Ledger,
    topics: Mapping[str, Topics],
) -> None:
    """Runs a program over bounded sources, all at once."""
    started = time.time()
    with explained():
        labels = _labels(plan, spark, topics)
    for sink in sinks_of(plan.sinks):
        sink.check_access(len(labels))
        sink.check_run(ledger.run)
    with explained(), never_restarted(plan.sinks), recognised(plan):
        read = reader(spark, plan, False, None, topics)
        only = Moment(0, int(started * 1_000_000))
        lowering = Lowering(plan=plan, labels=labels, run=ledger.run, ending=False, only=only)
        lowered = lower(lowering, read, in_one_batch(only.clock))
        rows = written(lowered.last, lowered.frame, 0)
        for each in topics.values():
            check_unchanged(each)
        ledger.settle(0, rows, started)


def _labels(plan: Physical, spark: SparkSession, topics: Mapping[str, Topics]) -> list[int]:
    """The names of the shards: one for each partition of a shuffle, or more for large input.

    A partition may have several: Python works on one after the other, each of which fits in memory.
    """
    partitions = partitions_of(spark)
    if plan.stages == 1:
        return labels_of(partitions, partitions)
    return labels_of(shards_of(input_bytes(spark, plan.sources, topics), partitions), partitions)
