"""A local cluster, and the file in which it is recorded."""

from __future__ import annotations

import json
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from millstream.kafka.local.broker import Broker
from millstream.model.errors import KafkaError, PlanError
from millstream.system.processes import Process

_STATE = "cluster.json"
DELETE = "end brokers that may still run, and delete the folder"
"""The fix where it is not recorded what was started."""


@dataclass(frozen=True)
class Cluster:
    """The brokers of a data directory, running or not."""

    id: str
    folder: Path
    brokers: tuple[Broker, ...]

    @property
    def servers(self) -> str:
        """The address of all brokers, as Kafka's clients take it (``bootstrap.servers``)."""
        return ",".join(broker.address for broker in self.brokers)

    def broker(self, number: int) -> Broker:
        """A broker by its number, from 1."""
        for broker in self.brokers:
            if broker.id == number:
                return broker
        raise PlanError(
            "MS113",
            f"there is no broker {number}",
            fix=f"write a number from 1 to {len(self.brokers)}",
        )

    def to_dict(self) -> dict[str, Any]:
        """The cluster as JSON, for ``--json``."""
        brokers = [
            {"id": b.id, "address": b.address, "pid": b.pid, "log": str(b.log)}
            for b in self.brokers
        ]
        return {"servers": self.servers, "data": str(self.folder), "brokers": brokers}


def read_cluster(folder: Path) -> Cluster | None:
    """The cluster that is recorded in a folder; None if there is none."""
    file = folder / _STATE
    if not file.exists():
        return None
    try:
        state = json.loads(file.read_text(encoding="utf-8"))
        brokers = [
            Broker(
                broker["id"],
                broker["port"],
                broker["controller_port"],
                folder / f"broker-{broker['id']}",
                Process(**broker["process"]) if broker["process"] else None,
            )
            for broker in state["brokers"]
        ]
        return Cluster(state["id"], folder, tuple(brokers))
    except (ValueError, KeyError, TypeError) as error:
        raise unusable(f"{file} cannot be read: {error!r}", DELETE) from error


def write_cluster(cluster: Cluster) -> None:
    """Records a cluster in its folder, in one step: readers get the old record or the new one."""
    brokers = [
        {
            "id": broker.id,
            "port": broker.port,
            "controller_port": broker.controller_port,
            "process": asdict(broker.process) if broker.process else None,
        }
        for broker in cluster.brokers
    ]
    state = {"id": cluster.id, "brokers": brokers}
    unfinished = cluster.folder / f"{_STATE}.unfinished"
    unfinished.write_text(json.dumps(state, indent=2), encoding="utf-8")
    unfinished.replace(cluster.folder / _STATE)


def unusable(what: str, fix: str) -> KafkaError:
    """The folder of a cluster cannot be used as it is."""
    return KafkaError("MS305", what, fix=fix)
