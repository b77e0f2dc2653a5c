"""The registry of a user's local clusters, so that they are found from any folder.

Each cluster has one file in the user's state directory, which names the folder of the cluster.
What runs is recorded in that folder: an entry whose brokers have ended, for whatever reason, is
ignored. Only the search for brokers uses the registry, so it is no error if it cannot be written.
"""

from __future__ import annotations

import hashlib
import os
import sys
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from millstream.kafka.local.cluster import Cluster, read_cluster
from millstream.model.errors import KafkaError

STATE = "MILLSTREAM_STATE"
"""The environment variable that names another state directory."""


def state_folder(environment: Mapping[str, str]) -> Path:
    """The directory for what Millstream records for a user, outside of projects.

    >>> state_folder({"XDG_STATE_HOME": "/home/ann/state"})
    PosixPath('/home/ann/state/millstream')
    """
    if given := environment.get(STATE):
        return Path(given).expanduser().absolute()
    if home := environment.get("XDG_STATE_HOME"):
        return Path(home) / "millstream"
    user = Path("~").expanduser()
    if sys.platform == "darwin":
        return user / "Library" / "Application Support" / "millstream"
    return user / ".local" / "state" / "millstream"


def register(folder: Path) -> None:
    """Adds the folder of a cluster that is about to be started."""
    with suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        _folder().chmod(0o700)
        unfinished = _entry(folder).with_suffix(f".{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(str(folder), encoding="utf-8")
        unfinished.replace(_entry(folder))


def forget(folder: Path) -> None:
    """Removes a cluster that was stopped."""
    with suppress(OSError):
        _entry(folder).unlink()


def running_clusters() -> list[Cluster]:
    """The clusters of this user that have a running broker, in the order of their folders."""
    found = []
    for entry in sorted(_folder().glob("*.txt")):
        try:
            if entry.stat().st_uid != os.getuid():
                continue
            cluster = read_cluster(Path(entry.read_text(encoding="utf-8")))
        except (OSError, ValueError, KafkaError):
            continue
        if cluster and any(broker.pid for broker in cluster.brokers):
            found.append(cluster)
    return sorted(found, key=lambda cluster: cluster.folder)


def _folder() -> Path:
    return state_folder(os.environ) / "clusters"


def _entry(folder: Path) -> Path:
    return _folder() / f"{hashlib.sha256(os.fsencode(folder)).hexdigest()[:16]}.txt"
