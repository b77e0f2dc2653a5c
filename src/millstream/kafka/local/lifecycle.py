"""A local cluster: real Kafka on this machine, which stays until it is told to go.

All that it has is in the folder ``kafka`` of the data directory, ``.millstream`` unless another is
named. What has been started is known again by its pid and its start, and nothing else is stopped.
A registry of the user's (``registry.py``) remembers the folders, so that brokers are found from
anywhere.
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
from millstream.kafka.local.broker_failures import no_room, not_started
from millstream.kafka.local.cluster import DELETE, Cluster, read_cluster, unfit, write_cluster
from millstream.kafka.local.data_directory import data_folder, existing, held
from millstream.kafka.local.jars import Say, jars
from millstream.kafka.local.ports import with_free_ports
from millstream.kafka.local.registry import forget, register
from millstream.model.errors import PlanError
from millstream.system.processes import Process

_A_MOMENT = 0.1  # seconds between two looks
_ROOM = 200_000_000  # what a broker should find on the disk, in bytes
_PATIENCE = 120.0  # seconds: a busy machine takes long to start three of them
_STOPPING = 20.0  # seconds
_STOPPING_ALONE = 2.0  # seconds


def up(
    brokers: int | None = None,
    port: int | None = None,
    data: str | Path | None = None,
    say: Say = lambda _: None,
) -> Cluster:
    """Starts the brokers that do not run yet, and waits until producers can write to them.

    ``brokers`` (1 to 3) and ``port`` (that of the first one; 0 for any that are free) may be left
    out: they are then as they were, and at first 1 and 9092.
    """
    _check_range("brokers", brokers, 1, 3)
    _check_range("port", port, 0, 65533)
    with held(data, say) as folder:
        cluster = _fitting(folder, brokers, port)
        register(folder)
        down_now = [broker.id for broker in cluster.brokers if not broker.pid]
        if not down_now:
            # Who started them may have been killed before they were ready.
            _wait(cluster.brokers, cluster, say)
            return cluster
        if shutil.disk_usage(folder).free < _ROOM * len(down_now):
            raise no_room(folder)
        if len(down_now) == len(cluster.brokers):
            cluster = with_free_ports(cluster, port)
        return _started(cluster, down_now, jars("broker", say), say)


def start_broker(number: int, data: str | Path | None = None, say: Say = lambda _: None) -> Cluster:
    """Starts one broker of a cluster that is there, and waits until it takes part again."""
    existing(data)
    with held(data, say) as folder:
        cluster = existing(data)
        register(folder)
        if cluster.broker(number).pid:
            _wait([cluster.broker(number)], cluster, say)
            return cluster
        return _started(cluster, [number], jars("broker", say), say)


def stop_broker(number: int, data: str | Path | None = None, say: Say = lambda _: None) -> None:
    """Stops one broker, and waits until it has ended."""
    existing(data)
    with held(data, say):
        _stop([existing(data).broker(number)])


def down(
    data: str | Path | None = None, wipe: bool = False, say: Say = lambda _: None
) -> Cluster | None:
    """Stops what ``up`` has started, and nothing else; ``wipe`` deletes its data then.

    Gives the cluster that was there; brokers of it that did not run have no process.
    """
    if not data_folder(data).exists():
        return None
    with held(data, say) as folder:
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


def _fitting(folder: Path, brokers: int | None, port: int | None) -> Cluster:
    """The cluster of the folder, or a new one, if it is what is asked for."""
    cluster = read_cluster(folder)
    if cluster is None or not any(b.data.exists() or b.pid for b in cluster.brokers):
        if any(folder.glob("broker-*/data")):
            raise unfit(f"{folder} holds data of brokers, but cluster.json is missing", DELETE)
        made = [Broker(n, 0, 0, folder / f"broker-{n}") for n in range(1, (brokers or 1) + 1)]
        return Cluster(new_cluster_id(), folder, tuple(made))
    count, first = len(cluster.brokers), cluster.brokers[0]
    if brokers not in (None, count):
        raise unfit(
            f"{folder} holds a cluster with --brokers {count}, not {brokers}",
            f"write --brokers {count}, keep the other one elsewhere (--data), or delete this one: "
            "millstream kafka down --wipe",
        )
    if port not in (None, 0, first.port) and any(broker.pid for broker in cluster.brokers):
        raise unfit(
            f"the brokers of {folder} run on port {first.port}, not on {port}",
            "stop them first: millstream kafka down",
        )
    return cluster


def _started(cluster: Cluster, numbers: list[int], paths: list[Path], say: Say) -> Cluster:
    """Starts brokers and waits for them. If that fails or is interrupted, none of them stays."""
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
        _stop([cluster.broker(number) for number in numbers], patience=0)
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
    """Waits until each started broker knows all that run: what it then accepts is replicated."""
    running = {broker.id for broker in cluster.brokers if broker.pid}
    deadline = time.monotonic() + _PATIENCE
    waiting = started
    while True:
        for broker in started:
            if not broker.pid:
                raise not_started(broker.id, broker.folder, "it ended", broker.last_words)
        waiting = [broker for broker in waiting if not running <= _known_to(broker)]
        if not waiting:
            return
        say("waiting for " + " and ".join(f"broker {broker.id}" for broker in waiting))
        if time.monotonic() > deadline:
            why = f"it did not answer within {_PATIENCE:.0f} s"
            raise not_started(waiting[0].id, waiting[0].folder, why, waiting[0].last_words)
        time.sleep(_A_MOMENT)


def _known_to(broker: Broker) -> set[int]:
    """The brokers that a broker would tell clients of."""
    with socket.socket() as probe:  # cheaper than a client, most of the time
        if probe.connect_ex((HOST, broker.port)):
            return set()
    client = AdminClient({"bootstrap.servers": broker.address, "log_level": 0})
    try:
        return set(client.list_topics(timeout=5).brokers)
    except KafkaException:
        return set()


def _stop(brokers: Sequence[Broker], patience: float = _STOPPING) -> None:
    """Stops brokers together, those that take too long by force: Kafka is made to survive that."""
    processes = [broker.process for broker in brokers if broker.process and broker.process.runs]
    for process in processes:
        process.send(signal.SIGTERM)
    deadline = time.monotonic() + patience
    while running := [process for process in processes if process.runs]:
        if 2 * len(running) <= len(processes):
            # Without a majority of controllers they would wait in vain to be let go.
            deadline = min(deadline, time.monotonic() + _STOPPING_ALONE)
        if time.monotonic() >= deadline:
            for process in running:
                process.send(signal.SIGKILL)
        time.sleep(_A_MOMENT)


def _check_range(name: str, value: int | None, least: int, most: int) -> None:
    if value is not None and not least <= value <= most:
        raise PlanError(
            "MS113", f"{name}={value} is out of range", fix=f"write one from {least} to {most}"
        )
