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
    """A broker that is a controller too. All its files are in its folder."""

    id: int
    port: int
    controller_port: int
    folder: Path
    process: Process | None = None

    @property
    def address(self) -> str:
        """The address for clients."""
        return f"{HOST}:{self.port}"

    @property
    def pid(self) -> int | None:
        """The id of its process; None if it does not run."""
        return self.process.pid if self.process and self.process.runs else None

    @property
    def data(self) -> Path:
        """The folder of its topics, which exists once the storage is formatted."""
        return self.folder / "data"

    @property
    def log(self) -> Path:
        """Kafka's log since the broker was started."""
        return self.folder / "kafka.log"

    @property
    def logs(self) -> list[Path]:
        """The files with Java's output and Kafka's log since it was started, if not empty."""
        files = [self.folder / "output.log", self.log]
        return [file for file in files if file.exists() and file.stat().st_size]

    @property
    def output(self) -> str:
        """All that it has printed and logged since it was started."""
        return "".join(file.read_text(errors="replace") for file in self.logs)


def write_settings(broker: Broker, brokers: Sequence[Broker]) -> None:
    """Writes the files that a broker reads when it starts, given all brokers of its cluster."""
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
        # Relative to its folder, whose path may contain characters with a meaning for Kafka.
        "log.dirs": "data",
        "auto.create.topics.enable": "false",
        "default.replication.factor": replicas,
        "min.insync.replicas": in_sync,
        # How long a broker that was killed counts as alive, and cannot be started again.
        "broker.session.timeout.ms": 5000,
        "broker.heartbeat.interval.ms": 1000,
        # No other members are expected, so a group need not wait for them.
        "group.initial.rebalance.delay.ms": 0,
    }
    for topic in ("offsets.topic", "transaction.state.log", "share.coordinator.state.topic"):
        settings[f"{topic}.replication.factor"] = replicas
        settings[f"{topic}.num.partitions"] = 6  # created at the first use, so not 50
    settings["transaction.state.log.min.isr"] = in_sync
    settings["share.coordinator.state.topic.min.isr"] = in_sync
    return settings


def new_cluster_id() -> str:
    """The id of a cluster. It cannot begin with a dash, which Kafka would read as an option."""
    return "M" + secrets.token_urlsafe(16)[:21]


def format_storage(broker: Broker, cluster_id: str, jars: Sequence[Path]) -> None:
    """Creates the directory of a broker's data, complete or not at all."""
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
    """Starts a broker, and does not wait until it is ready."""
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
    # Java can only open files whose names the locale can encode.
    return {**os.environ, "CLASSPATH": os.pathsep.join(map(str, jars)), "LC_ALL": "C.UTF-8"}
