"""Replays programs on Spark Structured Streaming: planned and lowered as in a job.

Programs that are replayed together share one query, in which a micro-batch runs a step of each.
"""

from __future__ import annotations

import shutil
import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any

from pyspark.sql import DataFrame, SparkSession

from millstream.model.errors import RunError
from millstream.model.instants import LAST
from millstream.model.script import ProcessingTime, Step
from millstream.physical.plan import Physical, physical
from millstream.plan.names import with_distinct_names
from millstream.plan.nodes import Stateful
from millstream.spark.compat.remote import is_remote
from millstream.spark.driver.failures import explained
from millstream.spark.driver.session import local_session
from millstream.spark.driver.shard_labels import labels_of
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.program import lower
from millstream.spark.lower.shuffles import with_state
from millstream.spark.worker.batch_clock import Moment, announce_moment
from millstream.testing.spark_input import SourceSteps, SparkInput
from millstream.testing.spark_outputs import Made, Outputs, outputs_of

SHARDS = 2
_RUN = "replay"


@dataclass(frozen=True)
class Program:
    """An operator whose steps have distinct names, and what happens to its sources."""

    node: Stateful
    steps: Sequence[Step]


def replay_programs(programs: Sequence[Program], follows: bool = False) -> list[Any]:
    """What each program gives; all must have equally many operators one after another.

    That is ``Panes`` of a grouping, and ``Rows`` of any other operator.

    Where they ``follow`` their watermark policies, these are held against the first one's clock.
    """
    outputs = [outputs_of(each.node, number) for number, each in enumerate(programs)]
    sinks = with_distinct_names(*(sink for each in outputs for sink in each.sinks))
    plan = replace(physical(sinks), follows=follows, reads_all=True)
    for each in outputs:
        each.find(plan)
    folder = Path(tempfile.mkdtemp(prefix="millstream-replay-"))
    try:
        with explained(plan):
            return _run(plan, programs, outputs, folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


def _run(
    plan: Physical, programs: Sequence[Program], outputs: list[Outputs], folder: Path
) -> list[Any]:
    session = replay_session()
    lowering = Lowering(plan=plan, labels=labels_of(SHARDS, SHARDS), run=_RUN, ending=False)
    both = list(zip(programs, outputs, strict=True))
    steps = [SourceSteps(each.steps, made.node, made.names) for each, made in both]
    input = SparkInput(folder / "steps", plan)
    input.write(steps, lowering.labels)
    lowered = lower(lowering, input.reader(session), with_state(False, _RUN, ()), apart=True)
    clocks = list(_clocks(programs[0].steps))

    def batch(frame: DataFrame, number: int) -> None:
        clock = clocks[min(number, len(clocks) - 1)]
        announce_moment(frame.sparkSession, _RUN, Moment(number, clock))
        made = Made(lowering, lowered, frame.collect(), number)
        for each in outputs:
            each.take(made)

    writer = lowered.frame.writeStream.outputMode("append").foreachBatch(batch)
    writer = writer.option("checkpointLocation", str(folder / "checkpoint"))
    query = writer.trigger(availableNow=True).start()
    try:
        query.awaitTermination()
    finally:
        query.stop()
    return [each.result for each in outputs]


def _clocks(steps: Sequence[Step]) -> Iterator[int]:
    """What event times are held against, step by step; before a step moves it, no time is ahead."""
    clock = None
    for step in steps:
        if isinstance(step, ProcessingTime):
            clock = max(clock or 0, step.us)
        yield LAST if clock is None else clock


@cache
def replay_session() -> SparkSession:
    """The session that all replays of this process share."""
    session = local_session("millstream-replay", partitions=SHARDS, short=True)
    if is_remote(session):
        raise RunError(
            "MS206",
            "replay(engine='spark') needs a Spark of its own, and this program has a session of "
            "Spark Connect",
            fix="replay in a program that has none",
        )
    session.sparkContext.setLogLevel("ERROR")
    return session
