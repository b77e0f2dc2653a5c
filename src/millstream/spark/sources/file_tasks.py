"""How Spark assigns files to tasks: by settings that a job keeps when it is resumed.

The rows that a task reads are a slice of each sink that they go straight to, and a retried batch
must have the same slices. But Spark assigns files by the number of its cores, and by settings that
it reads again for each batch.
"""

from __future__ import annotations

from collections.abc import Mapping

from pyspark.sql import SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them

from millstream.model.errors import RunError
from millstream.spark.compat.remote import is_remote

FileTasks = Mapping[str, str]
"""Settings of Spark, by name."""

TASKS = "spark.sql.files.minPartitionNum"
_SETTINGS = (
    TASKS,
    "spark.sql.files.maxPartitionNum",
    "spark.sql.files.maxPartitionBytes",
    "spark.sql.files.openCostInBytes",
)
_MOST_TASKS = 10_000


def file_task_settings(spark: SparkSession) -> dict[str, str]:
    """How the session assigns files to tasks now."""
    found = {name: spark.conf.get(name, None) for name in _SETTINGS}
    known = {name: value for name, value in found.items() if value is not None}
    return known if TASKS in known else {TASKS: str(_tasks(spark)), **known}


def keep_file_tasks(spark: SparkSession, kept: FileTasks, ours: bool) -> None:
    """Has the session assign files as when the job began; one of the user's own is only checked."""
    now = file_task_settings(spark)
    others = [name for name in _SETTINGS if now.get(name) != kept.get(name)]
    if ours:
        for name in others:
            if name in kept:
                spark.conf.set(name, kept[name])
            else:
                spark.conf.unset(name)
    elif others:
        raise RunError(
            "MS206",
            "the Spark session assigns files to other tasks than it did when the job began: if a "
            "batch had to be retried, its rows would be in other slices of the sinks",
            fix=f"before run(): {'; '.join(_said(name, kept) for name in others)}",
        )


def _said(name: str, kept: FileTasks) -> str:
    if name in kept:
        return f'spark.conf.set("{name}", "{kept[name]}")'
    return f'spark.conf.unset("{name}")'


def _tasks(spark: SparkSession) -> int:
    """How many tasks Spark makes of what it reads, if no setting says otherwise."""
    if is_remote(spark):  # which does not report it, but does it
        some = spark.range(_MOST_TASKS).select(F.spark_partition_id())
        return some.distinct().count()
    found = spark.conf.get("spark.sql.leafNodeDefaultParallelism", None)
    return spark.sparkContext.defaultParallelism if found is None else int(found)
