"""A cluster is recorded in its folder, and read back."""

from __future__ import annotations

import pytest

from millstream.kafka import local
from millstream.kafka.local.broker import Broker
from millstream.kafka.local.cluster import Cluster, read_cluster, write_cluster
from millstream.model.errors import KafkaError, PlanError
from millstream.system.processes import Process


def cluster_in(folder) -> Cluster:
    brokers = [
        Broker(1, 9092, 19092, folder / "broker-1", Process(12, "3 ticks after boot x")),
        Broker(2, 9093, 19093, folder / "broker-2"),
    ]
    return Cluster("M", folder, tuple(brokers))


def test_a_cluster_that_is_recorded_is_read_back(tmp_path):
    assert read_cluster(tmp_path) is None
    write_cluster(cluster_in(tmp_path))
    assert read_cluster(tmp_path) == cluster_in(tmp_path)


def test_the_address_of_a_cluster_names_all_its_brokers(tmp_path):
    assert cluster_in(tmp_path).servers == "127.0.0.1:9092,127.0.0.1:9093"


def test_a_broker_that_a_cluster_does_not_have_is_an_error(tmp_path):
    assert cluster_in(tmp_path).broker(2).port == 9093
    with pytest.raises(PlanError, match="MS113: there is no broker 3(?s:.)*from 1 to 2"):
        cluster_in(tmp_path).broker(3)


@pytest.mark.parametrize("text", ["", "{}", "[]", '{"id": "M", "brokers": [{"id": 1}]}'])
def test_a_record_that_cannot_be_read_is_an_error(text, tmp_path):
    (tmp_path / "kafka").mkdir()
    (tmp_path / "kafka" / "cluster.json").write_text(text)
    with pytest.raises(KafkaError, match="MS305: .*cluster.json cannot be read"):
        local.known(tmp_path)
