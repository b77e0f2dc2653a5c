"""Local brokers: real ones that are started, killed and stopped."""

from __future__ import annotations

import json
import os
import shlex
import signal
import socket
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from pathlib import Path

import pytest
from confluent_kafka import Consumer, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, ConfigResource, NewTopic

from millstream.kafka import local
from millstream.kafka.local import lifecycle
from millstream.model.errors import KafkaError, PlanError, RunError
from millstream.system.processes import Process
from waiting import until


def create(cluster, topic, partitions=1):
    admin = AdminClient({"bootstrap.servers": cluster.servers})
    admin.create_topics([NewTopic(topic, partitions)])[topic].result()
    until(lambda: len(partitions_of(cluster, topic)) == partitions)


def partitions_of(cluster, topic):
    admin = AdminClient({"bootstrap.servers": cluster.servers, "log_level": 0})
    return admin.list_topics(topic, timeout=30).topics[topic].partitions


def setting(cluster, kind, name, key):
    admin = AdminClient({"bootstrap.servers": cluster.servers})
    [answer] = admin.describe_configs([ConfigResource(kind, name)]).values()
    return answer.result()[key].value


def write(cluster, topic, value):
    producer = Producer({"bootstrap.servers": cluster.servers, "acks": "all", "log_level": 0})
    errors = []
    producer.produce(topic, value, partition=0, callback=lambda error, _: errors.append(error))
    assert producer.flush(60) == 0
    assert errors == [None]


def read(cluster, topic, count):
    consumer = Consumer({"bootstrap.servers": cluster.servers, "group.id": "none", "log_level": 0})
    consumer.assign([TopicPartition(topic, 0, 0)])
    found = [message.value() for message in consumer.consume(count, timeout=60)]
    consumer.close()
    return found


def data_of(cluster):
    return cluster.folder.parent


def listens(port, host="127.0.0.1"):
    with socket.socket() as probe:
        return probe.connect_ex((host, port)) == 0


# What one broker for all tests can show.


def test_a_transaction_can_be_written_as_soon_as_it_is_up(broker):
    create(broker, "local-transaction")
    producer = Producer({"bootstrap.servers": broker.servers, "transactional.id": "local"})
    producer.init_transactions()
    producer.begin_transaction()
    producer.produce("local-transaction", b"once")
    producer.commit_transaction()
    assert read(broker, "local-transaction", 1) == [b"once"]


def test_up_leaves_a_cluster_that_runs_as_it_is(broker):
    assert local.up(data=data_of(broker)) == broker
    assert local.up(1, 0, data_of(broker)) == broker
    assert local.start_broker(1, data_of(broker)) == broker


def test_up_waits_for_brokers_that_run_but_are_not_ready(broker, monkeypatch):
    for again in (local.up, partial(local.start_broker, 1)):
        known = iter([set(), set(), {1}])
        monkeypatch.setattr(lifecycle, "_listed_by", lambda _, known=known: next(known))
        texts = []
        assert again(data=data_of(broker), say=texts.append) == broker
        assert texts == ["waiting for broker 1"] * 2


def test_brokers_listen_on_loopback_only(broker):
    [one] = broker.brokers
    assert listens(one.port)
    assert listens(one.controller_port)
    assert not listens(one.port, "127.0.0.2")
    assert not listens(one.controller_port, "127.0.0.2")


def test_a_topic_is_not_created_by_being_named(broker):
    assert setting(broker, "broker", "1", "auto.create.topics.enable") == "false"


def test_another_port_or_number_of_brokers_than_what_runs_is_refused(broker):
    port = broker.brokers[0].port
    with pytest.raises(KafkaError, match=f"MS305: .* run on port {port}, not on {port + 1}"):
        local.up(port=port + 1, data=data_of(broker))
    with pytest.raises(KafkaError, match="MS305: .* with --brokers 1, not 3"):
        local.up(brokers=3, data=data_of(broker))


# What needs no broker at all.


def test_numbers_out_of_range_are_refused(tmp_path):
    for wrong in ({"brokers": 0}, {"brokers": 4}, {"port": -1}, {"port": 65534}):
        with pytest.raises(PlanError, match="MS113"):
            local.up(**wrong, data=tmp_path)


def test_without_java_nothing_is_started(tmp_path, monkeypatch):
    monkeypatch.setenv("JAVA_HOME", "/no/such/java")
    with pytest.raises(RunError, match="MS205: Spark and Kafka need Java 17"):
        local.up(port=0, data=tmp_path)
    assert local.running(tmp_path) is None
    with pytest.raises(RunError, match="MS205"):
        local.up(brokers=2, port=0, data=tmp_path)  # no cluster of one broker was recorded


def java_that(home, does):
    """A Java that formats any storage at once, and does this as a broker."""
    java = home / "bin" / "java"
    java.parent.mkdir(parents=True)
    format_storage = "mkdir data.unfinished; exit;;"
    java.write_text(f'#!/bin/sh\ncase "$*" in *StorageTool*) {format_storage} esac\n{does}\n')
    java.chmod(0o755)
    return str(home)


def test_a_broker_that_dies_at_once_does_not_run(tmp_path, monkeypatch):
    home = java_that(tmp_path / "java", "echo Invalid heap size; exit 1")
    monkeypatch.setenv("JAVA_HOME", home)
    start = lifecycle.start

    def start_and_look_too_late(*arguments):
        process = start(*arguments)
        until(lambda: not process.runs)
        return replace(process, started="")

    monkeypatch.setattr(lifecycle, "start", start_and_look_too_late)
    with pytest.raises(KafkaError, match="MS306: broker 1 did not start: it ended"):
        local.up(port=0, data=tmp_path)
    assert local.running(tmp_path) is None
    assert local.down(tmp_path).brokers[0].process is None


def test_a_java_for_other_machines_is_an_error_about_java(tmp_path, monkeypatch):
    home = Path(java_that(tmp_path / "java", ""))
    (home / "bin" / "java").write_bytes(b"\x7fELF of another architecture")
    monkeypatch.setenv("JAVA_HOME", str(home))
    with pytest.raises(
        RunError, match=r"MS205: .* cannot run the one that is there: .*Exec format"
    ):
        local.up(port=0, data=tmp_path)


def state_of_one(folder, process):
    folder.mkdir(parents=True)
    one = {"id": 1, "port": 9092, "controller_port": 9093, "process": process}
    (folder / "cluster.json").write_text(json.dumps({"id": "M", "brokers": [one]}))


def test_a_pid_that_another_process_got_after_a_reboot_is_left_alone(tmp_path):
    other = subprocess.Popen(["sleep", "600"])
    try:
        state_of_one(tmp_path / "kafka", {"pid": other.pid, "started": "12 ticks after boot x"})
        assert local.running(tmp_path) is None
        local.down(tmp_path, wipe=True)
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_data_without_its_state_is_not_taken_over(tmp_path):
    (tmp_path / "kafka" / "broker-1" / "data").mkdir(parents=True)
    with pytest.raises(KafkaError, match="MS305: .* contains data of brokers"):
        local.up(port=0, data=tmp_path)


def test_down_where_nothing_is_does_nothing(tmp_path):
    assert local.down(tmp_path) is None
    assert list(tmp_path.iterdir()) == []


def test_a_broker_that_is_not_there_cannot_be_started(tmp_path):
    with pytest.raises(KafkaError, match="MS308"):
        local.start_broker(1, tmp_path)
    assert list(tmp_path.iterdir()) == []
    state_of_one(tmp_path / "kafka", None)
    with pytest.raises(PlanError, match="MS113: there is no broker 2"):
        local.start_broker(2, tmp_path)


def test_a_disk_without_room_is_an_error_before_anything_starts(small_disk):
    with pytest.raises(KafkaError, match="MS307: there is not enough space") as caught:
        local.up(port=0, data=small_disk)
    assert "--data" in caught.value.fix


def test_a_disk_that_is_full_is_the_same_error(small_disk):
    with pytest.raises(OSError, match="No space left"):
        (small_disk / "all").write_bytes(bytes(2_000_000))
    with pytest.raises(KafkaError, match="MS307: there is not enough space"):
        local.up(port=0, data=small_disk / "data")


# What needs brokers of its own.


@pytest.fixture
def data(tmp_path):
    """A data directory with characters that have a meaning for Kafka, Java or a shell."""
    data = tmp_path / "dätä, with $(signs) \\ 数据"
    yield data
    local.down(data)


def test_a_cluster_keeps_its_ports_and_messages_when_it_is_stopped_or_killed(data):
    unfinished = data / "kafka" / "broker-1" / "data.unfinished"
    state_of_one(data / "kafka", None)  # as an up leaves it that is killed while it formats
    unfinished.mkdir(parents=True)
    (unfinished / "meta.properties").write_text("half a li")
    first = local.up(port=0, data=data)
    create(first, "kept")
    write(first, "kept", b"before")

    assert local.down(data) == first
    assert not first.brokers[0].process.runs
    assert not listens(first.brokers[0].port)

    with ThreadPoolExecutor() as pool:
        second, same = pool.map(lambda _: local.up(data=data), range(2))
    assert second == same
    assert second.servers == first.servers
    write(second, "kept", b"after")

    os.kill(second.broker(1).pid, signal.SIGKILL)
    until(lambda: local.running(data) is None)
    third = local.up(data=data)
    assert third.servers == first.servers
    assert read(third, "kept", 2) == [b"before", b"after"]

    local.down(data, wipe=True)
    assert local.known(data) is None
    assert not (data / "kafka").exists()


def test_a_broker_that_dies_is_an_error_with_its_output(data):
    local.up(port=0, data=data)
    local.down(data)
    damaged = data / "kafka" / "broker-1" / "data" / "meta.properties"
    damaged.write_text(damaged.read_text().replace("node.id=1", "node.id=7"))
    with pytest.raises(KafkaError, match="MS306: broker 1 did not start: it ended") as caught:
        local.up(data=data)
    assert "node id" in caught.value.what
    assert f"kafka down --data {shlex.quote(str(data))} --wipe" in caught.value.fix
    assert local.running(data) is None


def test_an_interrupted_up_leaves_no_broker(data):
    program = [sys.executable, "-m", "millstream", "kafka", "up", "--port", "0", "--data", data]
    with subprocess.Popen(program, stderr=subprocess.PIPE, text=True) as up:
        for line in up.stderr:
            if line == "waiting for broker 1\n":
                process = local.known(data).broker(1).process
                assert isinstance(process, Process)
                up.send_signal(signal.SIGINT)
    assert up.returncode != 0
    assert not process.runs
    assert local.running(data) is None


def test_three_brokers_replicate_and_survive_the_death_of_a_leader(data):
    cluster = local.up(brokers=3, port=0, data=data)
    create(cluster, "replicated", 3)
    assert setting(cluster, "topic", "replicated", "min.insync.replicas") == "2"
    write(cluster, "replicated", b"before")
    partition = partitions_of(cluster, "replicated")[0]
    assert sorted(partition.replicas) == [1, 2, 3]

    os.kill(cluster.broker(partition.leader).pid, signal.SIGKILL)
    write(cluster, "replicated", b"meanwhile")
    assert local.running(data).broker(partition.leader).pid is None

    cluster = local.start_broker(partition.leader, data)
    until(lambda: len(partitions_of(cluster, "replicated")[0].isrs) == 3)
    assert read(cluster, "replicated", 2) == [b"before", b"meanwhile"]

    local.stop_broker(2, data)
    assert [bool(b.pid) for b in local.known(data).brokers] == [True, False, True]
    assert all(broker.pid for broker in local.up(data=data).brokers)
    assert len(partitions_of(cluster, "__consumer_offsets")[0].replicas) == 3
