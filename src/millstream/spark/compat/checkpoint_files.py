"""The class by which Spark writes the files of a checkpoint."""

from __future__ import annotations

from typing import Any

from millstream.spark.compat.jvm import java_class

# The other way to write files, Spark's first choice, starts ten processes for each of them.
FILE_MANAGER = (
    "org.apache.spark.sql.execution.streaming.checkpointing.FileSystemBasedCheckpointFileManager"
)


def check(jvm: Any) -> None:
    java_class(jvm, FILE_MANAGER)
