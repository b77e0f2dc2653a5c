"""What a local cluster consists of, and the file that remembers it."""

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
"""What to do where it cannot be known what was started."""


@dataclass(frozen=True)
class Cluster:
    """The brokers of a data directory, whether they run or not."""

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
        """What there is to know, for machines."""
        brokers = [
            {"id": b.id, "address": b.address, "pid": b.pid, "log": str(b.log)}
            for b in self.brokers
        ]
        return {"servers": self.servers, "data": str(self.folder), "brokers": brokers}


def read_cluster(folder: Path) -> Cluster | None:
    """The cluster that a folder tells of; None if it tells of none."""
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
        raise unfit(f"{file} cannot be read: {error!r}", DELETE) from error


def write_cluster(cluster: Cluster) -> None:
    """Remembers a cluster: who reads at the same time sees the old one or the new one."""
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


def unfit(what: str, fix: str) -> KafkaError:
    """A folder that does not hold what it should."""
    return KafkaError("MS305", what, fix=fix)
