"""Starts and stops local clusters: real Kafka on this machine, which runs until it is stopped.

A process that was started is recognised by its pid and its start time, and no other is stopped.
"""

from __future__ import annotations

import shutil
import signal
import socket
import time
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path

from confluent_kafka import KafkaException
from confluent_kafka.admin import AdminClient

from millstream.kafka.local.broker import (
    HOST,
    Broker,
    format_storage,
    new_cluster_id,
    start,
    write_settings,
)
from millstream.kafka.local.broker_failures import disk_full, down_command, not_started
from millstream.kafka.local.cluster import DELETE, Cluster, read_cluster, unusable, write_cluster
from millstream.kafka.local.data_directory import data_folder, existing, locked_folder
from millstream.kafka.local.jars import Say, jars
from millstream.kafka.local.ports import with_free_ports
from millstream.kafka.local.registry import forget, register
from millstream.model.errors import PlanError
from millstream.system.processes import Process

_POLL_EVERY = 0.1  # seconds
_FREE_SPACE = 200_000_000  # bytes on the disk that a broker needs
_START_TIMEOUT = 120.0  # seconds: on a busy machine, three brokers start slowly
_STOP_TIMEOUT = 20.0  # seconds
_STOP_TIMEOUT_ALONE = 2.0  # seconds


def up(
    brokers: int | None = None,
    port: int | None = None,
    data: str | Path | None = None,
    say: Say = lambda _: None,
) -> Cluster:
    """Starts the brokers that do not run yet, and waits until producers can write to them.

    ``brokers`` (1 to 3) and ``port`` (that of the first one; 0 for any that are free) may be left
    out: they are then those of the last time, and at first 1 and 9092.
    """
    _check_range("brokers", brokers, 1, 3)
    _check_range("port", port, 0, 65533)
    with locked_folder(data, say) as folder:
        cluster = _cluster_of(folder, brokers, port)
        register(folder)
        down_now = [broker.id for broker in cluster.brokers if not broker.pid]
        if not down_now:
            # The process that started them may have been killed before they were ready.
            _wait(cluster.brokers, cluster, say)
            return cluster
        if shutil.disk_usage(folder).free < _FREE_SPACE * len(down_now):
            raise disk_full(folder)
        if len(down_now) == len(cluster.brokers):
            cluster = with_free_ports(cluster, port)
        return _started(cluster, down_now, jars("broker", say), say)


def start_broker(number: int, data: str | Path | None = None, say: Say = lambda _: None) -> Cluster:
    """Starts one broker of an existing cluster, and waits until it has joined the others."""
    existing(data)
    with locked_folder(data, say) as folder:
        cluster = existing(data)
        register(folder)
        if cluster.broker(number).pid:
            _wait([cluster.broker(number)], cluster, say)
            return cluster
        return _started(cluster, [number], jars("broker", say), say)


def stop_broker(number: int, data: str | Path | None = None, say: Say = lambda _: None) -> None:
    """Stops one broker, and waits until it has ended."""
    existing(data)
    with locked_folder(data, say):
        _stop([existing(data).broker(number)])


def down(
    data: str | Path | None = None, wipe: bool = False, say: Say = lambda _: None
) -> Cluster | None:
    """Stops what ``up`` has started, and nothing else; ``wipe`` deletes its data then.

    Returns the cluster that was there; its brokers that did not run have no process.
    """
    if not data_folder(data).exists():
        return None
    with locked_folder(data, say) as folder:
        cluster = read_cluster(folder)
        if cluster:
            ran = [b if b.pid else replace(b, process=None) for b in cluster.brokers]
            cluster = replace(cluster, brokers=tuple(ran))
            say("stopping the brokers")
            _stop(cluster.brokers)
        forget(folder)
        if wipe:
            shutil.rmtree(folder)
    return cluster


def _cluster_of(folder: Path, brokers: int | None, port: int | None) -> Cluster:
    """The cluster of the folder, or a new one; MS305 if it is not as requested."""
    cluster = read_cluster(folder)
    if cluster is None or not any(b.data.exists() or b.pid for b in cluster.brokers):
        if any(folder.glob("broker-*/data")):
            raise unusable(
                f"{folder} contains data of brokers, but cluster.json is missing", DELETE
            )
        made = [Broker(n, 0, 0, folder / f"broker-{n}") for n in range(1, (brokers or 1) + 1)]
        return Cluster(new_cluster_id(), folder, tuple(made))
    count, first = len(cluster.brokers), cluster.brokers[0]
    if brokers not in (None, count):
        raise unusable(
            f"{folder} contains a cluster with --brokers {count}, not {brokers}",
            f"write --brokers {count}, keep the new one elsewhere (--data), or delete this one: "
            f"{down_command(folder)} --wipe",
        )
    if port not in (None, 0, first.port) and any(broker.pid for broker in cluster.brokers):
        raise unusable(
            f"the brokers of {folder} run on port {first.port}, not on {port}",
            f"stop them first: {down_command(folder)}",
        )
    return cluster


def _started(cluster: Cluster, numbers: list[int], paths: list[Path], say: Say) -> Cluster:
    """Starts brokers and waits for them. If that fails or is interrupted, all are stopped."""
    for number in numbers:
        write_settings(cluster.broker(number), cluster.brokers)
    write_cluster(cluster)
    _format([cluster.broker(number) for number in numbers], cluster.id, paths, say)
    try:
        for number in numbers:
            process = start(cluster.broker(number), paths)
            cluster = _with_process(cluster, number, process)
            write_cluster(cluster)
        _wait([cluster.broker(number) for number in numbers], cluster, say)
    except BaseException:
        _stop([cluster.broker(number) for number in numbers], timeout=0)
        raise
    return cluster


def _format(brokers: list[Broker], cluster_id: str, paths: list[Path], say: Say) -> None:
    new = [broker for broker in brokers if not broker.data.exists()]
    if new:
        say("formatting the storage")
        with ThreadPoolExecutor() as pool:
            list(pool.map(lambda broker: format_storage(broker, cluster_id, paths), new))


def _with_process(cluster: Cluster, number: int, process: Process) -> Cluster:
    brokers = [replace(b, process=process) if b.id == number else b for b in cluster.brokers]
    return replace(cluster, brokers=tuple(brokers))


def _wait(started: Sequence[Broker], cluster: Cluster, say: Say) -> None:
    """Waits until each started broker lists all that run: from then on, records are replicated."""
    running = {broker.id for broker in cluster.brokers if broker.pid}
    deadline = time.monotonic() + _START_TIMEOUT
    waiting = started
    while True:
        for broker in started:
            if not broker.pid:
                raise not_started(broker.id, broker.folder, "it ended", broker.output)
        waiting = [broker for broker in waiting if not running <= _listed_by(broker)]
        if not waiting:
            return
        say("waiting for " + " and ".join(f"broker {broker.id}" for broker in waiting))
        if time.monotonic() > deadline:
            why = f"it did not answer within {_START_TIMEOUT:.0f} s"
            raise not_started(waiting[0].id, waiting[0].folder, why, waiting[0].output)
        time.sleep(_POLL_EVERY)


def _listed_by(broker: Broker) -> set[int]:
    """The brokers that a broker lists for clients."""
    with socket.socket() as probe:  # cheaper than a client, while nothing listens yet
        if probe.connect_ex((HOST, broker.port)):
            return set()
    client = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    try:
        return set(client.list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def _stop(brokers: Sequence[Broker], timeout: float = _STOP_TIMEOUT) -> None:
    """Stops brokers together, and kills those that take too long: Kafka survives that."""
    processes = [broker.process for broker in brokers if broker.process and broker.process.runs]
    for process in processes:
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + timeout
    while running := [process for process in processes if process.runs]:
        if 2 * len(running) <= len(processes):
            # Without a majority of controllers, none can approve that a broker stops.
            deadline = min(deadline, time.monotonic() + _STOP_TIMEOUT_ALONE)
        if time.monotonic() >= deadline:
            for process in running:
                process.send(signal.SIGKILL)
        time.sleep(_POLL_EVERY)


def _check_range(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise PlanError(
            "MS113", f"{name}={value} is out of range", fix=f"write one from {least} to {most}"
        )
