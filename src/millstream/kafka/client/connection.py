"""How a Kafka cluster is reached: its address, the settings of its clients, and the clients."""

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
from millstream.kafka.settings import DECIDED, unknown_setting
from millstream.model.errors import KafkaError
from millstream.plan.build.kafka import server_addresses
from millstream.system.interrupts import interrupts_later

PATIENCE = 10.0
"""Seconds that brokers which say nothing get to answer."""
_SECOND_CHANCE = 2.0  # and after a no: "localhost" may have two addresses, of which one is right
_NOES = {Failure._ALL_BROKERS_DOWN, Failure._AUTHENTICATION, Failure._SSL}
_FIX = "check the address and that brokers run; with TLS or SASL, give security.protocol"
_FIXES = {
    Failure._AUTHENTICATION: "check the user name, the password and sasl.mechanism",
    Failure._SSL: "give the authority that signed the certificates of the brokers, "
    "ssl.truststore.type=PEM and ssl.truststore.location=FILE; check that the names in them are "
    "those in the address, and that the port speaks TLS: security.protocol",
    Failure._RESOLVE: "correct the name of the host; if it is right, it is known in another "
    "network only, such as inside of containers",
}
_SAID = {
    "Connection refused": "see that a broker runs there, and that the port is right",
    "silence": "check the address; if it is right, a firewall lets nothing through",
    "Disconnected": "see that the port is that of a broker; with TLS or SASL, give "
    "security.protocol",
    "Invalid response size": "something else than Kafka listens there, or Kafka with TLS: check "
    "the port, or give security.protocol",
}
_AROUND = re.compile(r"^\S+/\S+: | \(after [^)]*\)$")  # what librdkafka puts around a reason

# librdkafka tells each failed attempt; what matters of it is in the errors that are raised.
_log = logging.getLogger("millstream.kafka.client")
_log.addHandler(logging.NullHandler())


def servers_of(given: str | None = None) -> str:
    """The address of the cluster, as given; else what is found, in this order.

    The local brokers of this folder, what MILLSTREAM_SERVERS says, and the local brokers of another
    folder, if they are those of one cluster.

    >>> servers_of("kafka-1:9092,kafka-2:9092")
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
        what = f"which Kafka cluster is meant? {looked}{where_others_run(elsewhere)}"
        fix = "name one of them: servers='HOST:PORT', or --servers HOST:PORT on the command line"
    else:
        what = (
            "no Kafka cluster is named: no servers are given, MILLSTREAM_SERVERS is not set, "
            f"{looked}, and this user has started none elsewhere"
        )
        fix = "start local brokers, millstream kafka up, or name servers: --servers HOST:PORT"
    raise KafkaError("MS320", what, fix=fix)


@dataclass(frozen=True)
class Connection:
    """The address of a cluster and the settings of its clients, in librdkafka's names.

    Its admin client is opened at the first use, and only if a broker answers.
    """

    servers: str
    settings: Mapping[str, str] = field(default_factory=dict, repr=False)  # may be secret

    @staticmethod
    def to(servers: str | None = None, settings: Mapping[str, str] | None = None) -> Connection:
        """A connection to the servers, or to those that ``servers_of`` finds."""
        settings = settings or {}
        return Connection(servers_of(servers or settings.get("bootstrap.servers")), settings)

    @cached_property
    def admin(self) -> AdminClient:
        """The admin client."""
        tried: list[Failure] = []
        admin: AdminClient = self._client(AdminClient, {"error_cb": tried.append})
        _reach(admin, self.servers, tried)
        _check_named(admin, self.servers)
        return admin

    def producer(self, settings: Mapping[str, Any]) -> Producer:
        """A producer with more settings; those of the connection go before most of them."""
        producer: Producer = self._client(Producer, settings)
        return producer

    def consumer(self, settings: Mapping[str, Any]) -> Consumer:
        """A consumer with more settings; those of the connection go before most of them."""
        consumer: Consumer = self._client(Consumer, settings)
        return consumer

    def _client(self, kind: Any, settings: Mapping[str, Any]) -> Any:
        given = {name: value for name, value in self.settings.items() if name not in DECIDED}
        try:
            return kind(
                {"error_cb": _unheard, **settings, **given}
                | {"bootstrap.servers": self.servers, "logger": _log}
            )
        except KafkaException as error:
            raise unknown_setting(error.args[0].str()) from error
        except (TypeError, ValueError, AttributeError) as error:  # it was to be no text
            raise unknown_setting(str(error)) from error


def check_reachable(connection: Connection) -> None:
    """Raises within seconds, with what was tried, if no broker answers."""
    _ = connection.admin


def _unheard(_error: Failure) -> None:
    """The client goes on by itself after what it tells here; what it gives up on is raised."""


def _reach(admin: AdminClient, servers: str, tried: list[Failure]) -> None:
    patient_until = time.monotonic() + PATIENCE
    refused = False
    while not _answers(admin):
        now = time.monotonic()
        if not refused and any(failure.code() in _NOES for failure in tried):
            refused = True
            patient_until = min(patient_until, now + _SECOND_CHANCE)
        if now > patient_until:
            raise _unreachable(servers, tried)


def _answers(admin: AdminClient) -> bool:
    with interrupts_later():  # inside of the client, Ctrl-C would be lost
        try:
            return bool(admin.cluster_id(timeout=0.25))
        except KafkaException:
            admin.poll(0)  # hears of the errors
            return False


def _check_named(admin: AdminClient, servers: str) -> None:
    """Refuses a cluster whose brokers name addresses where none of them can be reached.

    Clients ask at the address that they are given, and then speak to those that brokers name: what
    follows would only time out. Where a broker names the address that was given, it is one of them.
    """
    try:
        nodes = admin.list_topics(timeout=PATIENCE).brokers.values()
    except KafkaException:
        return  # what needs an answer asks again
    failed = {}
    for node in nodes:
        address = f"{node.host}:{node.port}"
        if address in servers.split(","):
            return
        try:
            socket.create_connection((node.host, node.port), _SECOND_CHANCE).close()
            return
        except OSError as error:
            failed[address] = error.strerror or "silence"
    if failed:
        named = "; ".join(f"{address}: {why}" for address, why in failed.items())
        raise KafkaError(
            "MS320",
            f"a Kafka broker answers at {servers}, but the addresses that the brokers name cannot "
            f"be reached from here: {named}",
            fix="let the brokers name addresses that clients can reach, advertised.listeners; or "
            "run this where it can reach those",
        )


def _unreachable(servers: str, tried: list[Failure]) -> KafkaError:
    codes = {failure.code() for failure in tried}
    told = (failure.str() for failure in tried if failure.code() != Failure._ALL_BROKERS_DOWN)
    reasons = dict.fromkeys(_AROUND.sub("", text) for text in told)
    if tried and not reasons:  # librdkafka tells nobody why, for brokers do that to idle clients
        reasons["Disconnected: the connection was closed without an answer"] = None
    said = "; ".join(reasons) or "silence"
    fixes = [fix for code, fix in _FIXES.items() if code in codes]
    fixes += [fix for words, fix in _SAID.items() if words in said]
    return KafkaError(
        "MS320",
        f"no Kafka broker answers at {servers}: {said}",
        fix=(fixes or [_FIX])[0] + _local_ones(servers),
    )


def _local_ones(servers: str) -> str:
    """A hint at local brokers, for those who look for some at a port where none listens."""
    hosts = {server.rpartition(":")[0] for server in servers.split(",")}
    if not hosts <= {"localhost", "127.0.0.1"}:
        return ""
    if found := running_clusters():
        return "; local brokers run at " + " and at ".join(each.servers for each in found)
    return "; millstream kafka up starts local ones"
