"""The data directory of a local cluster: where it is, and which cluster is in it.

All files of a cluster are in the folder ``kafka`` of its data directory, which is ``.millstream``
unless another is named.
"""

from __future__ import annotations

import errno
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path

from millstream.kafka.local.broker_failures import disk_full
from millstream.kafka.local.cluster import Cluster, read_cluster, unusable
from millstream.kafka.local.jars import Say
from millstream.kafka.local.registry import running_clusters
from millstream.model.errors import KafkaError
from millstream.system.data_directory import data_directory, make_data_directory
from millstream.system.locking import locked


def data_folder(data: str | Path | None = None) -> Path:
    """The folder of the cluster of a data directory: the given one, else the default."""
    return data_directory(data) / "kafka"


def known(data: str | Path | None = None) -> Cluster | None:
    """The cluster of a data directory, running or not; None if there is none."""
    return read_cluster(data_folder(data))


def existing(data: str | Path | None = None) -> Cluster:
    """The cluster of a data directory, running or not; MS308 if there is none."""
    cluster = known(data)
    if cluster is None:
        elsewhere = running_clusters()
        raise KafkaError(
            "MS308",
            f"there are no local brokers in {data_folder(data)}{where_others_run(elsewhere)}",
            fix="start some: millstream kafka up; or name their data directory: --data "
            + (" or --data ".join(str(each.folder.parent) for each in elsewhere) or "DIR"),
        )
    return cluster


def running(data: str | Path | None = None) -> Cluster | None:
    """The cluster of a data directory, if any broker of it runs.

    >>> running("/no/such/directory") is None
    True
    """
    cluster = known(data)
    return cluster if cluster and any(broker.pid for broker in cluster.brokers) else None


def where_others_run(clusters: Sequence[Cluster]) -> str:
    """Clusters that run in other folders, as the end of a message that none was found."""
    others = [f"{each.servers} in {each.folder.parent}" for each in clusters]
    return f"; others run at {', and at '.join(others)}" if others else ""


@contextmanager
def locked_folder(data: str | Path | None, say: Say) -> Iterator[Path]:
    """The folder of a cluster, locked, so that one process at a time changes it."""
    folder = data_folder(data)
    try:
        make_data_directory(folder.parent)
        with locked(folder.parent / "kafka.lock", lambda: say("waiting for another process")):
            folder.mkdir(exist_ok=True)
            yield folder
    except OSError as error:
        if error.errno in (errno.ENOSPC, errno.EDQUOT):
            raise disk_full(folder) from error
        if error.errno in (errno.EACCES, errno.EROFS, errno.ENOTDIR, errno.EEXIST):
            raise unusable(
                f"{folder} cannot be used: {error}", "name another one: --data"
            ) from error
        raise
