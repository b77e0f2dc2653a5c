"""Where this user has started local clusters, so that they are found from any folder.

Each has a file of its own in the user's state directory, which names the folder of the cluster.
What runs there, the folder says: an entry whose brokers have ended, however that was, counts for
nothing. Nothing depends on the registry but the search for brokers, so that it cannot be written
does not matter.
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
"""The variable that names another state directory."""


def state_folder(environment: Mapping[str, str]) -> Path:
    """The directory for what Millstream remembers of this user, beside what is in projects.

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
    """Remembers the folder of a cluster that is about to be started."""
    with suppress(OSError):
        _folder().mkdir(parents=True, exist_ok=True, mode=0o700)
        _folder().chmod(0o700)
        unfinished = _entry(folder).with_suffix(f".{os.getpid()}")
        unfinished.touch(mode=0o600)
        unfinished.write_text(str(folder), encoding="utf-8")
        unfinished.replace(_entry(folder))


def forget(folder: Path) -> None:
    """Forgets a cluster that was stopped."""
    with suppress(OSError):
        _entry(folder).unlink()


def running_clusters() -> list[Cluster]:
    """The clusters of this user of which a broker runs, by their folders."""
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
