"""Local brokers are found from any folder, and what has ended is not."""

from __future__ import annotations

import os
import stat
from pathlib import Path

import pytest

from millstream.kafka import local
from millstream.kafka.client.connection import find_servers
from millstream.kafka.local import registry
from millstream.kafka.local.broker import Broker
from millstream.kafka.local.cluster import Cluster, read_cluster, write_cluster
from millstream.model.errors import KafkaError
from millstream.system.processes import Process, _started

MYSELF = Process(os.getpid(), _started(os.getpid()))
DEAD = Process(os.getpid(), "before the last reboot")


@pytest.fixture(autouse=True)
def elsewhere(tmp_path, monkeypatch) -> Path:
    """A folder without brokers, and a state directory of its own."""
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    monkeypatch.setenv(registry.STATE, str(tmp_path / "state"))
    monkeypatch.delenv("MILLSTREAM_SERVERS", raising=False)
    monkeypatch.delenv("MILLSTREAM_DATA", raising=False)
    return tmp_path


def recorded(folder: Path, port: int, process: Process) -> Cluster:
    """A cluster as ``up`` leaves it, with this process, or a dead one, as its broker."""
    folder.mkdir(parents=True)
    broker = Broker(1, port, port + 1, folder / "broker-1", process)
    write_cluster(Cluster("id", folder, (broker,)))
    registry.register(folder)
    found = read_cluster(folder)
    assert found is not None
    return found


def test_brokers_that_were_started_in_another_folder_are_found(elsewhere, monkeypatch):
    recorded(elsewhere / "dead" / "kafka", 1, DEAD)
    other = recorded(elsewhere / "other" / "kafka", 9092, MYSELF)
    assert find_servers() == "127.0.0.1:9092"
    monkeypatch.setenv("MILLSTREAM_SERVERS", "named:9092")
    assert find_servers() == "named:9092", "a name that is given comes first"
    assert registry.running_clusters() == [other]


def test_of_several_one_must_be_named(elsewhere):
    for name, port in (("one", 9092), ("two", 9192)):
        recorded(elsewhere / name / "kafka", port, MYSELF)
    with pytest.raises(KafkaError, match="MS320: which Kafka cluster do you mean") as caught:
        find_servers()
    assert f"127.0.0.1:9092 in {elsewhere / 'one'}" in caught.value.what
    assert f"127.0.0.1:9192 in {elsewhere / 'two'}" in caught.value.what
    registry.forget(elsewhere / "one" / "kafka")
    assert find_servers() == "127.0.0.1:9192"


def test_entries_are_for_their_owner_only(elsewhere):
    recorded(elsewhere / "other" / "kafka", 9092, MYSELF)
    folder = elsewhere / "state" / "clusters"
    (entry,) = folder.iterdir()
    assert stat.S_IMODE(folder.stat().st_mode) == 0o700
    assert stat.S_IMODE(entry.stat().st_mode) == 0o600


def test_entries_that_cannot_be_read_or_written_do_no_harm(elsewhere, monkeypatch):
    recorded(elsewhere / "other" / "kafka", 9092, MYSELF)
    (elsewhere / "state" / "clusters" / "x.txt").write_bytes(b"\xff\0")
    (elsewhere / "broken" / "kafka").mkdir(parents=True)
    (elsewhere / "broken" / "kafka" / "cluster.json").write_text("{")
    registry.register(elsewhere / "broken" / "kafka")
    assert find_servers() == "127.0.0.1:9092"
    monkeypatch.setenv(registry.STATE, "/proc/no/such/place")
    registry.register(elsewhere / "other" / "kafka")
    registry.forget(elsewhere / "other" / "kafka")
    assert registry.running_clusters() == []


def test_an_error_names_where_brokers_run(elsewhere):
    with pytest.raises(KafkaError, match="MS320") as caught:
        find_servers()
    assert f"no local brokers run in {elsewhere / 'here' / '.millstream' / 'kafka'}" in str(
        caught.value
    )
    recorded(elsewhere / "other" / "kafka", 9092, MYSELF)
    with pytest.raises(KafkaError, match="MS308") as caught:
        local.existing()
    assert f"others run at 127.0.0.1:9092 in {elsewhere / 'other'}" in caught.value.what
    assert caught.value.fix.endswith(f"--data {elsewhere / 'other'}")
