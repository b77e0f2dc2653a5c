"""The Spark session: how Millstream makes one, and what it needs of one that it is given."""

from __future__ import annotations

import os
import sys

from pyspark.sql import SparkSession

from millstream.spark.java import checked_java

_NEEDED = {
    # Several kinds of state in one operator need RocksDB; the change log makes commits cheap.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Everywhere in Millstream a timestamp without a zone is in UTC.
    "spark.sql.session.timeZone": "UTC",
}


def local_session(name: str = "millstream", partitions: int = 2) -> SparkSession:
    """A session on this machine, bound to loopback."""
    _point_to_java_and_python()
    builder = SparkSession.builder.master(f"local[{partitions}]").appName(name)
    settings = {
        **_NEEDED,
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        # A worker has one core; Polars would start a thread for each of the machine's.
        "spark.executorEnv.POLARS_MAX_THREADS": "1",
    }
    for key, value in settings.items():
        builder = builder.config(key, value)
    return builder.getOrCreate()


def _point_to_java_and_python() -> None:
    """Spark runs on the Java that was found, and its workers on this Python."""
    home = checked_java(os.environ)
    if home:
        os.environ["JAVA_HOME"] = home
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
