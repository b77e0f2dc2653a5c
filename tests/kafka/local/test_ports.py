"""Brokers get ports that are free, the requested ones where that is possible."""

from __future__ import annotations

import errno
import socket

import pytest

from millstream.kafka import local
from millstream.kafka.local.broker import Broker
from millstream.kafka.local.cluster import Cluster
from millstream.kafka.local.ports import with_free_ports
from millstream.model.errors import KafkaError, PlanError
from ports import free_port


def new_cluster(folder, *ports: int) -> Cluster:
    brokers = [Broker(n, port, 0, folder / f"broker-{n}") for n, port in enumerate(ports, 1)]
    return Cluster("M", folder, tuple(brokers))


def ports_of(cluster: Cluster) -> list[int]:
    return [broker.port for broker in cluster.brokers]


def test_any_free_ports_are_all_different(tmp_path):
    cluster = with_free_ports(new_cluster(tmp_path, 0, 0, 0), 0)
    controllers = [broker.controller_port for broker in cluster.brokers]
    assert len({*ports_of(cluster), *controllers}) == 6
    assert 0 not in ports_of(cluster) + controllers


def test_a_cluster_keeps_its_ports_unless_another_is_requested(tmp_path):
    before, other = free_port(), free_port()
    assert ports_of(with_free_ports(new_cluster(tmp_path, before), None)) == [before]
    assert ports_of(with_free_ports(new_cluster(tmp_path, before), other)) == [other]


def test_a_port_on_which_another_process_listens_is_an_error(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        with pytest.raises(KafkaError, match=f"MS304: port {port} is taken by another process"):
            with_free_ports(new_cluster(tmp_path, 0), port)


def test_a_port_of_another_cluster_is_taken(broker, tmp_path):
    port = broker.brokers[0].port
    with pytest.raises(KafkaError, match=f"MS304: port {port} is taken") as caught:
        local.up(port=port, data=tmp_path)
    assert "--port 0" in caught.value.fix
    assert local.known(tmp_path) is None


def test_a_port_that_only_an_administrator_may_have_is_an_error_about_the_port(
    tmp_path, monkeypatch
):
    class Refused(socket.socket):
        def bind(self, _):
            raise PermissionError(errno.EACCES, "Permission denied")

    monkeypatch.setattr(socket, "socket", Refused)
    with pytest.raises(PlanError, match="MS113: port=80 is out of range") as caught:
        local.up(port=80, data=tmp_path)
    assert "--port 0" in caught.value.fix
