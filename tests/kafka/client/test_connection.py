"""Reaching a cluster: which one, and failing in time with what was tried."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace

import pytest

from millstream.kafka.client import connection
from millstream.kafka.client.connection import Connection, check_reachable, find_servers
from millstream.model.errors import KafkaError, PlanError


@pytest.fixture
def nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_DATA", str(tmp_path))
    monkeypatch.delenv("MILLSTREAM_SERVERS", raising=False)


def test_a_given_address_comes_first_then_local_brokers_then_the_variable(
    broker, nothing_runs, monkeypatch
):
    monkeypatch.setenv("MILLSTREAM_SERVERS", "elsewhere:9092")
    assert find_servers() == "elsewhere:9092"
    monkeypatch.setenv("MILLSTREAM_DATA", str(broker.folder.parent))
    assert find_servers() == broker.servers
    assert find_servers("given:9092") == "given:9092"


def test_no_address_at_all_is_an_error(nothing_runs):
    with pytest.raises(KafkaError, match="no Kafka cluster is named") as error:
        find_servers()
    assert error.value.code == "MS320"
    assert "millstream kafka up" in error.value.fix


@pytest.mark.parametrize("address", ["there", "there:99999", "http://there:9092", "there:0"])
def test_a_text_that_is_not_an_address_is_an_error_at_once(address, nothing_runs, monkeypatch):
    with pytest.raises(PlanError, match=f"MS113: servers has {address!r}.*no address"):
        find_servers(f"fine:9092,{address}")
    monkeypatch.setenv("MILLSTREAM_SERVERS", address)
    with pytest.raises(PlanError, match="MS113: MILLSTREAM_SERVERS has"):
        find_servers()


def test_what_to_do_fits_what_went_wrong():
    with pytest.raises(KafkaError, match="Connection refused") as refused:
        check_reachable(Connection("127.0.0.1:1"))
    assert "check that a broker runs there" in refused.value.fix
    assert "millstream kafka up starts local ones" in refused.value.fix
    with pytest.raises(KafkaError, match="Failed to resolve") as unknown:
        check_reachable(Connection("no-such-host.invalid:9092"))
    assert unknown.value.fix.startswith("correct the name of the host")


def test_a_file_of_settings_may_name_the_servers():
    assert Connection.to(None, {"bootstrap.servers": "there:9092"}).servers == "there:9092"


def test_a_broker_that_answers_is_reachable(broker):
    check_reachable(Connection(f"127.0.0.1:1,{broker.servers}"))


def test_an_address_without_a_broker_fails_in_seconds_with_what_was_tried():
    begun = time.monotonic()
    with pytest.raises(KafkaError, match="127.0.0.1:1 failed: Connection refused") as error:
        check_reachable(Connection("127.0.0.1:1,no-such-host.invalid:9092"))
    assert "Failed to resolve 'no-such-host.invalid:9092'" in error.value.what
    assert time.monotonic() - begun < 10


def test_an_address_that_does_not_answer_is_an_error_after_some_time(monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(KafkaError, match=f"no Kafka broker answers at {servers}: timed out"):
            check_reachable(Connection(servers))


def test_a_connection_that_is_closed_is_reported_as_closed():
    with socket.create_server(("127.0.0.1", 0)) as closing:
        Thread(target=_close_all, args=[closing], daemon=True).start()
        servers = f"127.0.0.1:{closing.getsockname()[1]}"
        with pytest.raises(KafkaError, match="Disconnected: .*closed without an answer") as error:
            check_reachable(Connection(servers))  # as brokers that require TLS do
    assert "security.protocol" in error.value.fix


def _close_all(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            with server.accept()[0] as client:
                client.recv(100)


def test_the_wrong_protocol_is_an_error_that_names_the_setting(broker):
    with pytest.raises(KafkaError, match="SSL") as error:
        check_reachable(Connection(broker.servers, {"security.protocol": "SSL"}))
    assert error.value.code == "MS320"
    assert "security.protocol" in error.value.fix


@pytest.mark.parametrize("kind", ["Consumer", "Producer"])
def test_reserved_settings_are_ignored(monkeypatch, kind):
    monkeypatch.setattr(connection, kind, dict)  # a client that shows what it is given
    theirs = {"group.id": "theirs", "isolation.level": "read_uncommitted", "client.id": "theirs"}
    opened = getattr(Connection("there:9092", theirs), kind.lower())
    ours = opened({"group.id": "ours", "client.id": "ours"})
    assert ours["group.id"] == "ours"
    assert ours["client.id"] == "theirs"
    assert "isolation.level" not in ours


@pytest.mark.parametrize("name", ["error_cb", "throttle_cb", "default.topic.config"])
def test_a_setting_that_cannot_be_a_text_is_an_error(name):
    with pytest.raises(KafkaError, match="MS322: the Kafka client does not accept the settings"):
        check_reachable(Connection("127.0.0.1:1", {name: "x"}))


def test_brokers_that_advertise_unreachable_addresses_are_an_error():
    def admin(*addresses: tuple[str, int]) -> SimpleNamespace:
        nodes = [SimpleNamespace(host=host, port=port) for host, port in addresses]
        answer = SimpleNamespace(brokers=dict(enumerate(nodes)))
        return SimpleNamespace(list_topics=lambda **_: answer)

    connection._check_advertised(admin(("localhost", 1), ("given", 9092)), "given:9092")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        connection._check_advertised(admin(("127.0.0.1", 1), ("127.0.0.1", port)), "given:9092")
    with pytest.raises(KafkaError, match="MS320.*127.0.0.1:1: Connection refused") as error:
        connection._check_advertised(admin(("127.0.0.1", 1)), "given:9092")
    assert "advertised.listeners" in error.value.fix
