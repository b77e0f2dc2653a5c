"""The Spark session: how Millstream makes one, and what it needs of one that it is given."""

from __future__ import annotations

import os
import sys
import threading
from collections.abc import Callable, Mapping
from contextlib import suppress
from functools import cache
from pathlib import Path
from shlex import quote
from types import MappingProxyType

from pyspark.errors import PySparkRuntimeError
from pyspark.sql import SparkSession

from millstream.model.errors import RunError
from millstream.spark.compat.checkpoint_files import FILE_MANAGER
from millstream.spark.compat.gateway import end_quietly, has_context, run_workers_by
from millstream.spark.compat.remote import is_local, is_remote
from millstream.spark.driver.gateway import started_jvm
from millstream.spark.driver.scratch import scratch_folder
from millstream.spark.driver.stderr_filter import LOGGING, less_noise, quiet_errors
from millstream.system.java import checked_java

NEEDED = {
    # Several kinds of state in one operator need RocksDB; the change log makes commits cheap.
    "spark.sql.streaming.stateStore.providerClass": (
        "org.apache.spark.sql.execution.streaming.state.RocksDBStateStoreProvider"
    ),
    "spark.sql.streaming.stateStore.rocksdb.changelogCheckpointing.enabled": "true",
    # Everywhere in Millstream a timestamp without a zone is in UTC.
    "spark.sql.session.timeZone": "UTC",
}

_SENSIBLE = {
    **NEEDED,
    "spark.sql.execution.arrow.maxRecordsPerBatch": "100000",
    # Its pages are for anyone who can reach this machine.
    "spark.ui.enabled": "false",
    # Spark remembers a thousand jobs, stages and plans for pages that are not served.
    "spark.ui.retainedJobs": "50",
    "spark.ui.retainedStages": "50",
    "spark.ui.retainedTasks": "500",
    "spark.sql.ui.retainedExecutions": "50",
    "spark.ui.showConsoleProgress": "false",
    # Spark does not give this to the workers of stateful operators. If it gave it to others,
    # they would be forked from a second daemon, and none would serve both.
    "spark.sql.execution.pyspark.udf.simplifiedTraceback.enabled": "false",
    # A worker has one core; Polars would start a thread for each of the machine's.
    "spark.executorEnv.POLARS_MAX_THREADS": "1",
    # So Polars' memory comes from one arena, and what one step gives back serves the next.
    "spark.executorEnv._RJEM_MALLOC_CONF": os.environ.get("_RJEM_MALLOC_CONF", "narenas:1"),
}
"""What a session has that Millstream makes, here or on a cluster."""

_QUICKLY = "-XX:TieredStopAtLevel=1"
_FRUGALLY = "-XX:+UseSerialGC"
_CLASSES = "-XX:MetaspaceSize=192m"
_COLLECTOR = "-XX:+Use"
_FEW_CORES = 2
_JAVA_OPTIONS = ("JDK_JAVA_OPTIONS", "JAVA_TOOL_OPTIONS", "_JAVA_OPTIONS", "PYSPARK_SUBMIT_ARGS")

_BECAUSE = {
    "spark.sql.streaming.stateStore.providerClass": "groupings keep their state in RocksDB",
    "spark.sql.session.timeZone": "a timestamp without a zone is in UTC",
}


def checked_session(spark: SparkSession, streaming: bool) -> SparkSession:
    """A session of the user's own, if it is set up for what is to run."""
    wrong = [
        key
        for key in _BECAUSE
        if (streaming or "timeZone" in key) and spark.conf.get(key, None) != NEEDED[key]
    ]
    if not wrong:
        return spark
    settings = "; ".join(f'spark.conf.set("{key}", "{NEEDED[key]}")' for key in wrong)
    reasons = ", and ".join(_BECAUSE[key] for key in wrong)
    raise RunError(
        "MS206",
        f"the Spark session is not set up for this job: {reasons}",
        fix=f"before run(): {settings}",
    )


def sees_files(spark: SparkSession) -> bool:
    """Whether Spark's files are those of this machine, and it passes over none of them."""
    lenient = ("spark.sql.files.ignoreCorruptFiles", "spark.sql.files.ignoreMissingFiles")
    return (
        is_local(spark)
        and shares_files(spark)
        and all(spark.conf.get(name) == "false" for name in lenient)
    )


def shares_files(spark: SparkSession | None) -> bool:
    """Whether a plain path is that of a file which this process can open, too, if it is there.

    Without a session, whether that will be so in one that ``local_session`` makes.
    """
    if spark is None:
        with suppress(PySparkRuntimeError):  # there is none
            spark = SparkSession.active()
    if spark is not None and is_remote(spark):
        return False
    system = spark.conf.get("spark.hadoop.fs.defaultFS", None) if spark is not None else None
    return str(system or "file:").startswith("file:") and "HADOOP_CONF_DIR" not in os.environ


_begun: set[str] = set()


def start_workers(spark: SparkSession) -> None:
    """Has Python's workers start in the background, while the driver still plans what they run.

    On a cluster it does nothing: there they are many, and nobody knows which will be needed.
    """
    app = str(spark.conf.get("spark.app.id", ""))
    if app in _begun or not is_local(spark):
        return
    _begun.add(app)
    thread = threading.Thread(target=_nothing, args=(spark,), daemon=True)
    thread.name = "millstream-workers"
    thread.start()


def _nothing(spark: SparkSession) -> None:
    """A task for each core, which does nothing."""
    with suppress(Exception):  # whatever is wrong with workers, the job's own tasks report it
        count = spark.sparkContext.defaultParallelism
        spark.range(0, count, 1, count).mapInArrow(lambda rows: rows, "id bigint").collect()


def local_session(
    name: str = "millstream",
    partitions: int | None = None,
    short: bool = False,
    announce: Callable[[str], None] = lambda _: None,
) -> SparkSession:
    """A session on this machine, bound to loopback, that uses the cores this process may use.

    If the program has one already, it is that one. If all that it runs is ``short``, Java compiles
    quickly instead of thoroughly. What takes a while is said.
    """
    with suppress(PySparkRuntimeError):  # there is none
        active = SparkSession.active()
        if is_remote(active):
            return active  # where there is one of Spark Connect, PySpark makes no other
    _point_to_java_and_python()
    partitions = partitions or _cores()
    builder = SparkSession.builder.master(f"local[{partitions}]").appName(name)
    settings = _settings(partitions, short)
    for key, value in settings.items():
        builder = builder.config(key, value)
    quiet_errors()
    if not has_context():
        announce("starting Java and Spark")
    with less_noise():
        session = started_jvm(builder.getOrCreate)
    end_quietly(session)
    if is_local(session):
        run_workers_by(session, _early_python(os.environ["PYSPARK_PYTHON"]))
    return session


def session_on(
    master: str, name: str, more: Mapping[str, str] = MappingProxyType({})
) -> SparkSession:
    """A session on a cluster, or on this machine in as many tasks as ``local[N]`` says.

    Settings in ``more`` replace those that Millstream would choose.
    """
    _point_to_java_and_python(local=master.startswith("local"))
    builder = SparkSession.builder.master(master).appName(name)
    settings = dict(_SENSIBLE)
    if master.startswith("local"):
        given = master.removeprefix("local").strip("[]")
        settings = _settings(int(given) if given.isdecimal() else _cores(), False)
    for key, value in {**settings, **more}.items():
        builder = builder.config(key, value)
    quiet_errors()
    with less_noise():
        session = started_jvm(builder.getOrCreate)
    end_quietly(session)
    return session


def _settings(partitions: int, short: bool) -> dict[str, str]:
    """The settings of a session on this machine."""
    return {
        **_SENSIBLE,
        "spark.sql.shuffle.partitions": str(partitions),
        "spark.sql.streaming.checkpointFileManagerClass": FILE_MANAGER,
        # Hadoop keeps checksums of local files, and checks them, already.
        "spark.sql.streaming.checkpoint.fileChecksum.enabled": "false",
        # Sorts and maps begin with a page, of 64 MB with a heap of some gigabytes. The young part
        # of a small heap rarely has room for that, so Java would stop in every batch to make some.
        "spark.buffer.pageSize": "8m",
        "spark.driver.extraJavaOptions": java_options(partitions, short, os.environ),
        "spark.driver.bindAddress": "127.0.0.1",
        "spark.driver.host": "127.0.0.1",
        "spark.python.daemon.module": "millstream.spark.worker.daemon",
        # Over TCP, a stateful task waits 40 ms for its first rows: they are sent in small pieces,
        # and each waits until the one before it is acknowledged.
        "spark.python.unix.domain.socket.enabled": "true",
        "spark.python.unix.domain.socket.dir": _sockets(),
        # Users' functions import what is beside the program, wherever that was started from.
        "spark.executorEnv.PYTHONPATH": _beside_the_program(),
    }


def java_options(cores: int, short: bool, env: Mapping[str, str]) -> str:
    """How the JVM runs.

    On few cores a collector with threads of its own takes them from the job, and Java's first
    choice lets the heap grow to twice what the simplest one does. A program whose environment says
    which collector to use has it: Java takes only one. Classes alone would have Java stop and
    collect all garbage four times until all that Spark needs are there, at last for 0.2 s.
    """
    chosen = any(_COLLECTOR in env.get(name, "") for name in _JAVA_OPTIONS)
    collector = _FRUGALLY if cores <= _FEW_CORES and not chosen else ""
    return " ".join(filter(None, (LOGGING, _QUICKLY if short else "", collector, _CLASSES)))


def _cores() -> int:
    """The cores that this process may use, as far as the system says."""
    may_use = getattr(os, "sched_getaffinity", None)  # which macOS does not have
    return len(may_use(0)) if may_use else os.cpu_count() or 1


@cache
def _sockets() -> str:
    """A folder for sockets, which Spark would leave behind; their names may not be long."""
    return scratch_folder("/tmp")


def _beside_the_program() -> str:
    """The folder that this process imports a program's own modules from, for workers as well."""
    folder = os.path.abspath(sys.path[0]) if sys.path else ""
    return folder if os.path.isdir(folder) else ""


@cache
def _early_python(python: str) -> str:
    """A command that runs this Python by way of ``early_start``; Spark takes only one word."""
    command = Path(_sockets(), "python")
    script = Path(__file__).parents[1] / "compat" / "early_start.py"
    command.write_text(f'#!/bin/sh\nexec {quote(python)} -I -S {quote(str(script))} "$@"\n')
    command.chmod(0o700)
    return str(command) if os.access(command, os.X_OK) else python  # /tmp may be for data only


def _point_to_java_and_python(local: bool = True) -> None:
    """Spark runs on the Java that was found, and its workers here on this Python."""
    home = checked_java(os.environ)
    if home:
        os.environ["JAVA_HOME"] = home
    if not local:
        # Spark asks a Python on this machine, too, about operators with state: by the name that
        # the cluster has for it, so it may be one without packages.
        os.environ["PYTHONPATH"] = os.pathsep.join(filter(os.path.isdir, sys.path))
        return
    os.environ.setdefault("SPARK_LOCAL_IP", "127.0.0.1")  # or it looks for one, and says so
    os.environ.setdefault("PYSPARK_PYTHON", sys.executable)
    os.environ.setdefault("PYSPARK_DRIVER_PYTHON", sys.executable)
