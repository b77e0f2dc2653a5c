"""All checks of what Millstream reaches for in Spark, which run when a session starts."""

from __future__ import annotations

from pyspark.sql import SparkSession

from millstream.spark.compat import (
    arrow_types,
    batch_id,
    checkpoint_files,
    driver_worker,
    gateway,
    messages,
    offset_log,
    pickler,
    remote,
    state_client,
    stopped_batch,
    worker_daemon,
)
from millstream.spark.compat.jvm import jvm_of
from millstream.spark.compat.versions import check_spark

IN_PYTHON = (
    arrow_types.check,
    driver_worker.check,
    gateway.check,
    pickler.check,
    remote.check,
    state_client.check,
    worker_daemon.check,
)
IN_JVM = (messages.check,)
OF_STREAMS = (checkpoint_files.check, batch_id.check, offset_log.check, stopped_batch.check)
"""What only streaming jobs reach for: it takes Spark a while to load, and they load it anyway."""

_checked: set[tuple[str, bool]] = set()


def check_session(session: SparkSession, streaming: bool) -> None:
    """MS222: Spark is of another version, or something has moved that Millstream reaches for.

    It is checked once for each Spark. The JVM of a server of Spark Connect is out of reach.
    """
    check_spark(session.version)
    for check in IN_PYTHON:
        check()
    if remote.is_remote(session):
        return
    key = session.sparkContext.applicationId, streaming
    if key not in _checked:
        jvm = jvm_of(session)
        for look in (*IN_JVM, *(OF_STREAMS if streaming else ())):
            look(jvm)
        _checked.add(key)
