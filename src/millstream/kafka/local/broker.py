"""One local broker: its settings, its storage and its process."""

from __future__ import annotations

import os
import secrets
import shutil
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path

from millstream.kafka.local.broker_failures import not_started
from millstream.system.java import java_command, java_runs
from millstream.system.processes import Process, spawn

HOST = "127.0.0.1"


@dataclass(frozen=True)
class Broker:
    """A broker that is a controller too. All that it has is in its folder."""

    id: int
    port: int
    controller_port: int
    folder: Path
    process: Process | None = None

    @property
    def address(self) -> str:
        """Where clients find it."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """Its process; None if it does not run."""
        return self.process.pid if self.process and self.process.runs else None

    @property
    def data(self) -> Path:
        """Its topics; there once it is formatted."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """What it has logged since it was started."""
        return self.folder / "kafka.log"

    @property
    def logs(self) -> list[Path]:
        """What Java has printed and Kafka logged since it was started, if it is anything."""
        said = [self.folder / "output.log", self.log]
        return [file for file in said if file.exists() and file.stat().st_size]

    @property
    def last_words(self) -> str:
        """All that it has printed and logged since it was started."""
        return "".join(file.read_text(errors="replace") for file in self.logs)


def write_settings(broker: Broker, brokers: Sequence[Broker]) -> None:
    """Writes what a broker reads when it starts, given all brokers of its cluster."""
    broker.folder.mkdir(parents=True, exist_ok=True)
    lines = [f"{key}={value}\n" for key, value in _settings(broker, brokers).items()]
    (broker.folder / "server.properties").write_text("".join(lines), encoding="utf-8")
    logging = files(__package__).joinpath("log4j2.properties").read_bytes()
    (broker.folder / "log4j2.properties").write_bytes(logging)


def _settings(broker: Broker, brokers: Sequence[Broker]) -> dict[str, object]:
    replicas = len(brokers)
    in_sync = 2 if replicas > 2 else 1
    settings = {
        "node.id": broker.id,
        "process.roles": "broker,controller",
        "listeners": f"PLAINTEXT://{broker.address},CONTROLLER://{HOST}:{broker.controller_port}",
        "advertised.listeners": f"PLAINTEXT://{broker.address}",
        "controller.listener.names": "CONTROLLER",
        "controller.quorum.voters": ",".join(f"{b.id}@{HOST}:{b.controller_port}" for b in brokers),
        # Relative to its folder, whose path may hold signs that mean something to Kafka.
        "log.dirs": "data",
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        # How long a broker that was killed is believed to live, and may not come back.
        "broker.session.timeout.ms": 5000,
        "broker.heartbeat.interval.ms": 1000,
        # Nobody else is coming, so a group need not wait for more members.
        "group.initial.rebalance.delay.ms": 0,
    }
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        settings[f"{topic}.replication.factor"] = replicas
        settings[f"{topic}.num.partitions"] = 6  # made on first use, so better not 50
    settings["transaction.state.log.min.isr"] = in_sync
    settings["share.coordinator.state.topic.min.isr"] = in_sync
    return settings


def new_cluster_id() -> str:
    """The id of a cluster: not one that begins with a dash, which Kafka takes for an option."""
    return "M" + secrets.token_urlsafe(16)[:21]


def format_storage(broker: Broker, cluster_id: str, jars: Sequence[Path]) -> None:
    """Makes the directory of a broker's data, whole or not at all."""
    unfinished = broker.folder / "data.unfinished"
    shutil.rmtree(unfinished, ignore_errors=True)
    settings = (broker.folder / "server.properties").read_text(encoding="utf-8")
    elsewhere = settings.replace("log.dirs=data\n", "log.dirs=data.unfinished\n")
    (broker.folder / "format.properties").write_text(elsewhere, encoding="utf-8")
    with java_runs():
        done = subprocess.run(
            _java("kafka.tools.StorageTool", "format", "-t", cluster_id, "-c", "format.properties"),
            cwd=broker.folder,
            env=_environment(jars),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
        )
    if done.returncode != 0:
        raise not_started(broker.id, broker.folder, "it cannot be formatted", done.stdout)
    unfinished.rename(broker.data)


def start(broker: Broker, jars: Sequence[Path]) -> Process:
    """Starts a broker, and does not wait for it."""
    if broker.log.exists():
        broker.log.replace(broker.folder / "kafka.before.log")
    return spawn(
        _java("kafka.Kafka", "server.properties"),
        cwd=broker.folder,
        output=broker.folder / "output.log",
        environment=_environment(jars),
    )


def _java(*arguments: str) -> list[str]:
    return [
        java_command(os.environ),
        "-Xmx512m",
        "-XX:+ExitOnOutOfMemoryError",
        "-Djava.awt.headless=true",
        "-Dlog4j2.configurationFile=log4j2.properties",
        *arguments,
    ]


def _environment(jars: Sequence[Path]) -> dict[str, str]:
    # Java can only open files whose names the locale can say.
    return {**os.environ, "CLASSPATH": os.pathsep.join(map(str, jars)), "LC_ALL": "C.UTF-8"}
