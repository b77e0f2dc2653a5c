"""Starts a program: in this process, as one batch of Spark, or as one streaming query."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, Literal

from millstream.jobs.at_exit import end_with_the_program, is_running
from millstream.jobs.job import Job, in_memory, no_rows, run_to_the_end
from millstream.model.errors import PlanError, RunError
from millstream.plan.build.functions import user_functions
from millstream.plan.nodes import Node, RowsSource, Sink, Source, TestSource, walk
from millstream.reports.progress import Tracker
from millstream.system.interrupts import interruptible, on_interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.jobs.starting import Says
    from millstream.physical.plan import Physical
    from millstream.spark.driver.ownership import Owner
    from millstream.spark.sources.kafka import Topics

Mode = Literal["streaming", "batch"]


def run(
    name: str,
    sinks: tuple[Node, ...],
    *,
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool,
    restarts: int,
) -> Job:
    """Runs a program: a small one that only collects rows given in the program needs no Spark."""
    used = list(user_functions(*sinks))
    if used:
        from millstream.spark.lower.pickling import check_functions

        check_functions(used)
    if spark is None and checkpoint is None and mode is None and _needs_no_spark(sinks):
        try:
            return run_to_the_end(name, sinks)
        except RunError as error:
            if error.code != "MS203":  # Spark may compute what the reference cannot
                raise
    return _run_on_spark(name, sinks, checkpoint, spark, mode, every, take_over, restarts)


def explain(sinks: tuple[Node, ...]) -> str:
    """How ``run`` would run a program, as text."""
    from millstream.physical.explain import explain_physical
    from millstream.physical.plan import physical

    return explain_physical(physical(sinks), _needs_no_spark(sinks))


def _needs_no_spark(sinks: tuple[Node, ...]) -> bool:
    sources = [node for node in walk(*sinks) if isinstance(node, Source)]
    return all(isinstance(source, RowsSource) for source in sources) and all(
        isinstance(sink, Sink) and in_memory(sink) for sink in sinks
    )


def _run_on_spark(
    name: str,
    sinks: tuple[Node, ...],
    checkpoint: str | None,
    spark: Any,
    mode: Mode | None,
    every: str | None,
    take_over: bool,
    restarts: int,
) -> Job:
    for source in walk(*sinks):
        if isinstance(source, TestSource):
            raise no_rows(source)
    from millstream.jobs.starting import starting

    with starting(name) as says:
        from millstream.physical.plan import physical
        from millstream.sinks.kinds import sinks_of

        plan = physical(sinks)
        streaming = _is_streaming(plan.sources, mode, checkpoint)
        ends = all(source.bounded for source in plan.sources)
        for sink in sinks_of(plan.sinks):
            sink.check_results(anew=ends and checkpoint is None)
        owner = _owner(name, checkpoint, take_over) if streaming else None
        try:
            ready = _ready(name, sinks, plan, spark, streaming, says)
            if not streaming:
                return _run_batch(ready)
            ours = spark is None
            return _start_streaming(ready, checkpoint, owner, every, restarts, ours)
        except BaseException:
            if owner is not None:
                owner.release()
            raise


def _owner(name: str, checkpoint: str | None, take_over: bool) -> Owner | None:
    """Makes this process the owner of the checkpoint, before anything is started for the job."""
    if is_running(name):
        raise RunError(
            "MS209",
            f"job {name!r} runs already, in this program",
            fix="give one of them another name, run('…'), or stop the first before: job.stop()",
        )
    if checkpoint is None:
        return None
    from millstream.spark.driver.ownership import Owner

    return Owner.take(name, checkpoint, take_over)


@dataclass(frozen=True)
class _Ready:
    """A program whose Spark has started: what a batch and a streaming query both need."""

    name: str
    sinks: tuple[Node, ...]
    plan: Physical
    session: SparkSession
    labels: list[int]
    topics: Mapping[str, Topics]
    empty: Sequence[Source]
    says: Says


def _ready(
    name: str, sinks: tuple[Node, ...], plan: Physical, spark: Any, streaming: bool, says: Says
) -> _Ready:
    from millstream.physical.plan import physical
    from millstream.sinks.kinds import sinks_of
    from millstream.spark.compat.versions import check_spark
    from millstream.spark.connect import check_tables
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.gateway import forget_ended_jvm
    from millstream.spark.driver.session import (
        checked_session,
        is_remote,
        local_session,
        sees_files,
        shares_files,
        start_workers,
    )
    from millstream.spark.driver.shard_labels import labels_of
    from millstream.spark.sources.file_columns import check_files
    from millstream.spark.sources.kafka import opened_topics

    if spark is None:
        forget_ended_jvm()
    # First the checks that take only seconds.
    empty = check_files(plan.sources) if shares_files(spark) else []
    topics = opened_topics(plan.sources)
    made = spark or local_session(name, kafka=bool(topics), says=says)
    says("starting the query")
    with explained():
        check_spark(made.version)
        session = checked_session(made, streaming, kafka=bool(topics))
    if is_remote(session):
        check_tables(plan.sinks)
    if plan.loaded and not sees_files(session):
        plan = physical(sinks, sees_files=False)
    partitions = int(session.conf.get("spark.sql.shuffle.partitions") or 2)
    start_workers(session)
    labels = labels_of(partitions, partitions)
    for sink in sinks_of(plan.sinks):
        sink.check_access(len(labels))
    return _Ready(name, sinks, plan, session, labels, topics, empty, says)


def _run_batch(ready: _Ready) -> Job:
    from millstream.jobs.starting import RUNNING
    from millstream.spark.driver.batch_job import run_batch
    from millstream.spark.driver.ledger import Ledger

    tracker = Tracker()
    ledger = Ledger(uuid.uuid4().hex, ready.plan.sinks, tracker)
    ready.says(RUNNING)
    try:
        interruptible(
            lambda: run_batch(ready.plan, ready.session, ledger, ready.labels, ready.topics)
        )
    except KeyboardInterrupt:
        with suppress(Exception):
            ready.session.interruptAll()  # its result is no longer needed
        raise
    tracker.state("finished")
    return Job(ready.name, ready.sinks, tracker, ledger.rows)


def _start_streaming(
    ready: _Ready,
    checkpoint: str | None,
    owner: Owner | None,
    every: str | None,
    restarts: int,
    ours: bool,
) -> Job:
    """``ours``: Millstream has created the session, and may configure it as the job needs."""
    from millstream.jobs.starting import RUNNING
    from millstream.spark.driver.checkpoint import opened
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.ledger import Ledger
    from millstream.spark.driver.session import is_remote
    from millstream.spark.driver.shard_progress import Standing
    from millstream.spark.driver.streaming_job import StreamingJob
    from millstream.spark.sources.file_tasks import keep_packing, packing_of

    name, plan, session, remote = ready.name, ready.plan, ready.session, is_remote(ready.session)
    packed = checkpoint is not None and plan.slices_by_tasks
    packing = packing_of(session) if packed else None
    folder = opened(name, checkpoint, plan, ready.labels, packing, owner)
    tracker = Tracker()
    with folder.closed_on_failure():
        if packed and folder.packing is not None:
            keep_packing(session, folder.packing, ours=ours and not remote)
        kept = None if folder.fleeting else folder.folder
        standing = Standing.kept_in(folder.folder, (grouping.name for grouping in plan.levels))
        ledger = Ledger(folder.run, plan.sinks, tracker, remote, folder.fence, kept, standing)
    job = Job(name, ready.sinks, tracker, ledger.rows)
    try:
        with (
            on_interrupt(signal.default_int_handler),
            explained(plan),
            folder.closed_on_failure(),
        ):
            job._stream = interruptible(
                lambda: StreamingJob(
                    name, plan, session, ledger, folder, every, ready.topics, restarts, ready.empty
                ),
                undo=StreamingJob.abandon,
            )
        end_with_the_program(job._stream)
        ready.says(RUNNING)
        if all(source.bounded for source in plan.sources):
            with on_interrupt(signal.default_int_handler), job._awaited(job._stream):
                pass
    except KeyboardInterrupt:
        job.stop()
        raise
    return job


def _is_streaming(sources: list[Source], mode: Mode | None, checkpoint: str | None) -> bool:
    endless = [source for source in sources if not source.bounded]
    if mode == "batch" and endless:
        raise PlanError(
            "MS113",
            f"source {endless[0].name!r} has no end, so it cannot run with mode='batch'",
            fix="read what is there now, read_files(…, bounded=True), or leave mode out",
        )
    if mode == "batch" and checkpoint is not None:
        raise PlanError(
            "MS113",
            "mode='batch' stores nothing to resume from, so a checkpoint would have no effect",
            fix="leave mode out: with a checkpoint each row is written once, however often the job "
            "is run; or leave the checkpoint out",
        )
    return bool(endless) or mode == "streaming" or (mode is None and checkpoint is not None)
