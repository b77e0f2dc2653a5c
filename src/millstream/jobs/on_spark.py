"""Runs a program on Spark: as one batch, or as one streaming query."""

from __future__ import annotations

import signal
import uuid
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING

from millstream.jobs.at_exit import end_with_the_program, is_running
from millstream.jobs.job import Job
from millstream.jobs.request import Request
from millstream.model.errors import RunError
from millstream.plan.nodes import Source
from millstream.reports.tracker import Tracker
from millstream.system.interrupts import interruptible, on_interrupt

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from millstream.jobs.registry.recorder import Recorder
    from millstream.jobs.starting import Announce
    from millstream.physical.plan import Physical
    from millstream.spark.driver.ownership import Owner
    from millstream.spark.sources.kafka import Topics


@dataclass(frozen=True)
class Prepared:
    """A program whose Spark has started: what a batch and a streaming query both need."""

    request: Request
    plan: Physical
    session: SparkSession
    topics: Mapping[str, Topics]
    empty: Sequence[Source]
    announce: Announce


def opened_sources(
    sources: Sequence[Source], spark: SparkSession | None = None
) -> tuple[dict[str, Topics], list[Source]]:
    """Checks what can fail within seconds: that the topics and files of the sources are there.

    Returns the topics by source, and the sources without files, which are to be checked again.
    """
    from millstream.spark.driver.session import shares_files
    from millstream.spark.sources.file_columns import check_files
    from millstream.spark.sources.kafka import opened_topics

    empty = check_files(sources) if shares_files(spark) else []
    return opened_topics(sources), empty


def prepare(request: Request, plan: Physical, streaming: bool, announce: Announce) -> Prepared:
    """Starts Spark, and checks what can be checked before any row is read."""
    from millstream.physical.plan import physical
    from millstream.spark.compat.checks import check_session
    from millstream.spark.compat.remote import is_remote
    from millstream.spark.connect import check_tables
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.gateway import forget_ended_jvm
    from millstream.spark.driver.session import (
        checked_session,
        local_session,
        sees_files,
        start_workers,
    )

    spark = request.spark
    if spark is None:
        forget_ended_jvm()
    topics, empty = opened_sources(plan.sources, spark)
    made = spark or local_session(request.name, announce=announce)
    announce("starting the query")
    with explained():
        check_session(made, streaming)
        session = checked_session(made, streaming)
    if is_remote(session):
        check_tables(plan.sinks)
    if plan.loaded and not sees_files(session):
        plan = physical(request.sinks, sees_files=False)
    start_workers(session)
    return Prepared(request, plan, session, topics, empty, announce)


def take_ownership(request: Request) -> Owner | None:
    """Makes this process the owner of the checkpoint, before anything is started for the job."""
    if is_running(request.name):
        raise RunError(
            "MS209",
            f"job {request.name!r} runs already, in this program",
            fix="give one of them another name, run('…'), or stop the first before: job.stop()",
        )
    if request.checkpoint is None:
        return None
    from millstream.spark.driver.ownership import Owner

    return Owner.take(request.name, request.checkpoint, request.take_over)


def run_batch(prepared: Prepared, tracker: Tracker) -> Job:
    """Runs the program over all that its sources have, and returns when that is written."""
    from millstream.jobs.starting import RUNNING
    from millstream.spark.driver import batch_job
    from millstream.spark.driver.ledger import Ledger

    plan, session = prepared.plan, prepared.session
    ledger = Ledger(uuid.uuid4().hex, plan.sinks, tracker)
    prepared.announce(RUNNING)
    try:
        interruptible(lambda: batch_job.run_batch(plan, session, ledger, prepared.topics))
    except KeyboardInterrupt:
        # Whatever Spark raises: the user has broken the program off, and sees that.
        with suppress(Exception):
            session.interruptAll()  # its result is no longer needed
        raise
    tracker.state("finished")
    return Job(prepared.request.name, prepared.request.sinks, tracker, ledger.rows)


def start_streaming(
    prepared: Prepared, owner: Owner | None, tracker: Tracker, recorder: Recorder | None
) -> Job:
    """Starts the query; returns when it has ended, if all its sources end."""
    from millstream.jobs.starting import RUNNING
    from millstream.physical.plan import parallelism_of
    from millstream.spark.compat.remote import is_remote
    from millstream.spark.driver.checkpoint import opened
    from millstream.spark.driver.failures import explained
    from millstream.spark.driver.ledger import Ledger
    from millstream.spark.driver.shard_progress import ShardProgress
    from millstream.spark.driver.streaming_job import StreamingJob
    from millstream.spark.sources.file_tasks import file_task_settings, keep_file_tasks

    request, plan, session = prepared.request, prepared.plan, prepared.session
    name, checkpoint, topics = request.name, request.checkpoint, prepared.topics
    remote = is_remote(session)
    packed = checkpoint is not None and plan.slices_by_tasks
    file_tasks = file_task_settings(session) if packed else None
    folder = opened(name, checkpoint, plan, _labels(plan, session), file_tasks, owner)
    with folder.closed_on_failure():
        if packed and folder.file_tasks is not None:
            # A session that Millstream has made, it may set up as the job needs it.
            keep_file_tasks(session, folder.file_tasks, ours=request.spark is None and not remote)
        kept = None if folder.fleeting else folder.folder
        shards = ShardProgress.kept_in(folder.folder, (grouping.name for grouping in plan.levels))
        ledger = Ledger(folder.run, plan.sinks, tracker, remote, folder.fence, kept, shards)
    job = Job(name, request.sinks, tracker, ledger.rows, recorder)
    try:
        with (
            on_interrupt(signal.default_int_handler),
            explained(plan),
            folder.closed_on_failure(),
        ):
            job._stream = interruptible(
                lambda: StreamingJob(
                    name,
                    plan,
                    session,
                    ledger,
                    folder,
                    request.every,
                    topics,
                    request.restarts,
                    prepared.empty,
                ),
                undo=StreamingJob.abandon,
            )
        end_with_the_program(job._stream)
        if recorder is not None:
            splits = {source: len(each.splits) for source, each in topics.items()}
            recorder.describe(parallelism_of(plan, len(folder.labels), splits))
            recorder.on_stop(job._stream.stop)
        prepared.announce(RUNNING)
        if all(source.bounded for source in plan.sources):
            with on_interrupt(signal.default_int_handler), job._awaited(job._stream):
                pass
    except KeyboardInterrupt:
        job.stop()
        raise
    return job


def _labels(plan: Physical, session: SparkSession) -> list[int]:
    """The names of the shards of a new query, one for each partition; its sinks can serve them."""
    from millstream.sinks.kinds import sinks_of
    from millstream.spark.driver.shard_count import partitions_of
    from millstream.spark.driver.shard_labels import labels_of

    partitions = partitions_of(session)
    for sink in sinks_of(plan.sinks):
        sink.check_access(partitions)
    return labels_of(partitions, partitions)
