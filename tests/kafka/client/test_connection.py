"""Reaching a cluster: which one, and failing in time with what was tried."""

from __future__ import annotations

import socket
import time
from contextlib import suppress
from threading import Thread
from types import SimpleNamespace

import pytest

from millstream.kafka.client import connection
from millstream.kafka.client.connection import Connection, check_reachable, servers_of
from millstream.model.errors import KafkaError, PlanError


@pytest.fixture
def nothing_runs(tmp_path, monkeypatch):
    monkeypatch.setenv("MILLSTREAM_DATA", str(tmp_path))
    monkeypatch.delenv("MILLSTREAM_SERVERS", raising=False)


def test_what_is_given_goes_first_then_local_brokers_then_the_variable(
    broker, nothing_runs, monkeypatch
):
    monkeypatch.setenv("MILLSTREAM_SERVERS", "elsewhere:9092")
    assert servers_of() == "elsewhere:9092"
    monkeypatch.setenv("MILLSTREAM_DATA", str(broker.folder.parent))
    assert servers_of() == broker.servers
    assert servers_of("given:9092") == "given:9092"


def test_no_address_at_all_is_an_error(nothing_runs):
    with pytest.raises(KafkaError, match="no Kafka cluster is named") as error:
        servers_of()
    assert error.value.code == "MS320"
    assert "millstream kafka up" in error.value.fix


@pytest.mark.parametrize("address", ["there", "there:99999", "http://there:9092", "there:0"])
def test_what_is_no_address_is_refused_at_once(address, nothing_runs, monkeypatch):
    with pytest.raises(PlanError, match=f"MS113: servers has {address!r}.*no address"):
        servers_of(f"fine:9092,{address}")
    monkeypatch.setenv("MILLSTREAM_SERVERS", address)
    with pytest.raises(PlanError, match="MS113: MILLSTREAM_SERVERS has"):
        servers_of()


def test_what_to_do_fits_what_went_wrong():
    with pytest.raises(KafkaError, match="Connection refused") as refused:
        check_reachable(Connection("127.0.0.1:1"))
    assert "see that a broker runs there" in refused.value.fix
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


def test_silence_is_not_waited_for_long(monkeypatch):
    monkeypatch.setattr(connection, "PATIENCE", 0.5)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        servers = f"127.0.0.1:{silent.getsockname()[1]}"
        with pytest.raises(KafkaError, match=f"no Kafka broker answers at {servers}: silence"):
            check_reachable(Connection(servers))


def test_a_connection_that_is_closed_is_no_silence():
    with socket.create_server(("127.0.0.1", 0)) as closing:
        Thread(target=_close_all, args=[closing], daemon=True).start()
        servers = f"127.0.0.1:{closing.getsockname()[1]}"
        with pytest.raises(KafkaError, match="Disconnected: .*closed without an answer") as error:
            check_reachable(Connection(servers))  # so do brokers that want TLS
    assert "security.protocol" in error.value.fix


def _close_all(server: socket.socket) -> None:
    with suppress(OSError):
        while True:
            with server.accept()[0] as client:
                client.recv(100)


def test_the_wrong_protocol_is_told(broker):
    with pytest.raises(KafkaError, match="SSL") as error:
        check_reachable(Connection(broker.servers, {"security.protocol": "SSL"}))
    assert error.value.code == "MS320"
    assert "security.protocol" in error.value.fix


@pytest.mark.parametrize("kind", ["Consumer", "Producer"])
def test_settings_do_not_say_what_the_program_decides(monkeypatch, kind):
    monkeypatch.setattr(connection, kind, dict)  # a client that shows what it is given
    theirs = {"group.id": "theirs", "isolation.level": "read_uncommitted", "client.id": "theirs"}
    opened = getattr(Connection("there:9092", theirs), kind.lower())
    ours = opened({"group.id": "ours", "client.id": "ours"})
    assert ours["group.id"] == "ours"
    assert ours["client.id"] == "theirs"
    assert "isolation.level" not in ours


@pytest.mark.parametrize("name", ["error_cb", "throttle_cb", "default.topic.config"])
def test_a_setting_that_cannot_be_a_text_is_told(name):
    with pytest.raises(KafkaError, match="MS322: the Kafka client does not take the settings"):
        check_reachable(Connection("127.0.0.1:1", {name: "x"}))


def test_brokers_that_name_addresses_nobody_can_reach_are_refused():
    def admin(*addresses: tuple[str, int]) -> SimpleNamespace:
        nodes = [SimpleNamespace(host=host, port=port) for host, port in addresses]
        answer = SimpleNamespace(brokers=dict(enumerate(nodes)))
        return SimpleNamespace(list_topics=lambda **_: answer)

    connection._check_named(admin(("localhost", 1), ("given", 9092)), "given:9092")
    with socket.create_server(("127.0.0.1", 0)) as other:
        port = other.getsockname()[1]
        connection._check_named(admin(("127.0.0.1", 1), ("127.0.0.1", port)), "given:9092")
    with pytest.raises(KafkaError, match="MS320.*127.0.0.1:1: Connection refused") as error:
        connection._check_named(admin(("127.0.0.1", 1)), "given:9092")
    assert "advertised.listeners" in error.value.fix
