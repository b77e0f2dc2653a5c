"""The connection to a Kafka cluster: its address, the settings of its clients, the clients."""

from __future__ import annotations

import logging
import os
import re
import socket
import time
from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any

from confluent_kafka import Consumer, KafkaException, Producer
from confluent_kafka import KafkaError as Failure
from confluent_kafka.admin import AdminClient

from millstream.kafka.local.data_directory import data_folder, running, where_others_run
from millstream.kafka.local.registry import running_clusters
from millstream.kafka.settings import RESERVED, unknown_setting
from millstream.model.errors import KafkaError
from millstream.plan.build.kafka import server_addresses
from millstream.system.interrupts import interrupts_later

PATIENCE = 10.0
"""Seconds that brokers have to answer."""
_AFTER_FAILURE = 2.0  # seconds after a failure: of the two addresses of "localhost", one may work
_FINAL = {Failure._ALL_BROKERS_DOWN, Failure._AUTHENTICATION, Failure._SSL}
_SILENCE = "timed out"
_FIX = "check the address and that brokers run; with TLS or SASL, give security.protocol"
_FIXES = {
    Failure._AUTHENTICATION: "check the user name, the password and sasl.mechanism",
    Failure._SSL: "give the authority that signed the certificates of the brokers, "
    "ssl.truststore.type=PEM and ssl.truststore.location=FILE; check that the names in them are "
    "those in the address, and that the port uses TLS: security.protocol",
    Failure._RESOLVE: "correct the name of the host; if it is right, it may exist only in "
    "another network, such as inside of containers",
}
_FIXES_BY_REASON = {
    "Connection refused": "check that a broker runs there, and that the port is right",
    _SILENCE: "check the address; if it is right, a firewall may block it",
    "Disconnected": "check that the port is that of a broker; with TLS or SASL, give "
    "security.protocol",
    "Invalid response size": "another service than Kafka listens there, or Kafka with TLS: check "
    "the port, or give security.protocol",
}
_AROUND = re.compile(r"^\S+/\S+: | \(after [^)]*\)$")  # what librdkafka adds to a reason

# librdkafka logs each failed attempt; what matters of it is in the errors that are raised.
_log = logging.getLogger("millstream.kafka.client")
_log.addHandler(logging.NullHandler())


def find_servers(given: str | None = None) -> str:
    """The address of the cluster, as given; else the first of these that is found.

    The local brokers of this folder, the address in MILLSTREAM_SERVERS, and the local brokers of
    another folder, if they belong to one cluster.

    >>> find_servers("kafka-1:9092,kafka-2:9092")
    'kafka-1:9092,kafka-2:9092'
    """
    if given:
        return server_addresses(given, "servers")
    if local := running():
        return local.servers
    if named := os.environ.get("MILLSTREAM_SERVERS"):
        return server_addresses(named, "MILLSTREAM_SERVERS")
    elsewhere = running_clusters()
    if len(elsewhere) == 1:
        return elsewhere[0].servers
    looked = f"no local brokers run in {data_folder()}"
    if elsewhere:
        what = f"which Kafka cluster do you mean? {looked}{where_others_run(elsewhere)}"
        fix = "choose one of them: servers='HOST:PORT', or --servers HOST:PORT on the command line"
    else:
        what = (
            "no Kafka cluster is named: no servers are given, MILLSTREAM_SERVERS is not set, "
            f"{looked}, and this user has started none elsewhere"
        )
        fix = (
            "start local brokers: millstream kafka up; or name others: --servers HOST:PORT, "
            "or for programs the variable MILLSTREAM_SERVERS"
        )
    raise KafkaError("MS320", what, fix=fix)


@dataclass(frozen=True)
class Connection:
    """The address of a cluster and the settings of its clients, in librdkafka's names.

    Its admin client is opened at the first use; MS320 if no broker answers.
    """

    servers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # may be secret

    @staticmethod
    def to(servers: str | None = None, settings: Mapping[str, str] | None = None) -> Connection:
        """A connection to the servers; without any, to those that ``find_servers`` finds."""
        settings = settings or {}
        return Connection(find_servers(servers or settings.get("bootstrap.servers")), settings)

    @cached_property
    def admin(self) -> AdminClient:
        """The admin client."""
        failures: list[Failure] = []
        admin: AdminClient = self._client(AdminClient, {"error_cb": failures.append})
        _reach(admin, self.servers, failures)
        _check_advertised(admin, self.servers)
        return admin

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        """A producer with more settings; most of the connection's settings override them."""
        producer: Producer = self._client(Producer, settings)
        return producer

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer with more settings; most of the connection's settings override them."""
        consumer: Consumer = self._client(Consumer, settings)
        return consumer

    def _client(self, kind: Any, settings: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in self.settings.items() if name not in RESERVED}
        try:
            return kind(
                {"error_cb": _ignore, **settings, **given}
                | {"bootstrap.servers": self.servers, "logger": _log}
            )
        except KafkaException as error:
            raise unknown_setting(error.args[0].str()) from error
        except (TypeError, ValueError, AttributeError) as error:  # it must not be a text
            raise unknown_setting(str(error)) from error


def check_reachable(connection: Connection) -> None:
    """MS320 within seconds if no broker answers."""
    _ = connection.admin


def _ignore(_error: Failure) -> None:
    """The client recovers by itself from what it reports here; other failures are raised."""


def _reach(admin: AdminClient, servers: str, failures: list[Failure]) -> None:
    deadline = time.monotonic() + PATIENCE
    failed = False
    while not _answers(admin):
        now = time.monotonic()
        if not failed and any(failure.code() in _FINAL for failure in failures):
            failed = True
            deadline = min(deadline, now + _AFTER_FAILURE)
        if now > deadline:
            raise _unreachable(servers, failures)


def _answers(admin: AdminClient) -> bool:
    with interrupts_later():  # inside the client, Ctrl-C would be lost
        try:
            return bool(admin.cluster_id(timeout=0.25))
        except KafkaException:
            admin.poll(0)  # calls back with the errors
            return False


def _check_advertised(admin: AdminClient, servers: str) -> None:
    """MS320 if none of the addresses that the brokers advertise can be reached.

    Clients connect to the address that they are given, and then to those that the brokers
    advertise, so all that follows would only time out. An advertised address that is among the
    given ones has been reached.
    """
    try:
        nodes = admin.list_topics(timeout=PATIENCE).brokers.values()
    except KafkaException:
        return  # the request that follows reports it
    failed = {}
    for node in nodes:
        address = f"{node.host}:{node.port}"
        if address in servers.split(","):
            return
        try:
            socket.create_connection((node.host, node.port), _AFTER_FAILURE).close()
            return
        except OSError as error:
            failed[address] = error.strerror or _SILENCE
    if failed:
        named = "; ".join(f"{address}: {why}" for address, why in failed.items())
        raise KafkaError(
            "MS320",
            f"a Kafka broker answers at {servers}, but the addresses that the brokers advertise "
            f"cannot be reached from here: {named}",
            fix="set advertised.listeners of the brokers to addresses that clients can reach; or "
            "run this where these can be reached",
        )


def _unreachable(servers: str, failures: list[Failure]) -> KafkaError:
    codes = {failure.code() for failure in failures}
    texts = (failure.str() for failure in failures if failure.code() != Failure._ALL_BROKERS_DOWN)
    reasons = dict.fromkeys(_AROUND.sub("", text) for text in texts)
    if failures and not reasons:  # librdkafka does not report this, as idle clients are closed too
        reasons["Disconnected: the connection was closed without an answer"] = None
    reason = "; ".join(reasons) or _SILENCE
    fixes = [fix for code, fix in _FIXES.items() if code in codes]
    fixes += [fix for text, fix in _FIXES_BY_REASON.items() if text in reason]
    return KafkaError(
        "MS320",
        f"no Kafka broker answers at {servers}: {reason}",
        fix=(fixes or [_FIX])[0] + _local_hint(servers),
    )


def _local_hint(servers: str) -> str:
    """A hint at local brokers, if the address is one of this machine."""
    hosts = {server.rpartition(":")[0] for server in servers.split(",")}
    if not hosts <= {"localhost", "127.0.0.1"}:
        return ""
    if found := running_clusters():
        return "; local brokers run at " + " and at ".join(each.servers for each in found)
    return "; millstream kafka up starts local ones"
