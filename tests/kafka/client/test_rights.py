"""A cluster with access control lists: a job needs a few rights, and errors name a missing one.

Its user logs in by SCRAM, in Java's client as in librdkafka.
"""

from __future__ import annotations

import json
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import KafkaException
from confluent_kafka.admin import (
    AclBinding,
    AclBindingFilter,
    AclOperation,
    AclPermissionType,
    ResourcePatternType,
    ResourceType,
    ScramCredentialInfo,
    ScramMechanism,
    UserScramCredentialUpsertion,
)
from typer.testing import CliRunner

import millstream as ms
from brokers import started
from millstream.cli.main import app
from millstream.kafka.admin.topics import create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS, prepare_markers
from millstream.kafka.delivery.records import Records
from millstream.kafka.delivery.transactions import transactions
from millstream.kafka.local.broker import HOST, Broker
from millstream.model.errors import KafkaError
from ports import free_port
from waiting import until

PASSWORD = "nobody-may-see-this"
_MODULES = "org.apache.kafka.common.security"
_TYPES = {
    "topic": ResourceType.TOPIC,
    "group": ResourceType.GROUP,
    "transactional-id": ResourceType.TRANSACTIONAL_ID,
}
NEEDED = {
    ("READ", "topic", "in"),
    ("READ", "group", "job"),
    ("WRITE", "topic", "out"),
    ("WRITE", "transactional-id", "millstream-*"),
    ("READ", "group", "millstream-*"),
    ("READ", "topic", MARKERS),
}
"""The rights that a job from topic to topic needs, as the document lists them."""


@dataclass(frozen=True)
class Guarded:
    """A cluster where ``root`` may do everything, and ``ann`` what she has a right to."""

    port: int

    @property
    def servers(self) -> str:
        return f"{HOST}:{self.port}"

    def options(self, user: str) -> dict[str, str]:
        return {
            "security.protocol": "SASL_PLAINTEXT",
            "sasl.mechanism": "PLAIN" if user == "root" else "SCRAM-SHA-512",
            "sasl.username": user,
            "sasl.password": PASSWORD,
        }

    def connection(self, user: str) -> Connection:
        return Connection(self.servers, self.options(user))

    def give(self, rights: set[tuple[str, str, str]]) -> None:
        """Gives ann these rights, and no others; returns when the broker knows.

        What she keeps is never taken away meanwhile: a client that is at work would notice.
        """
        admin = self.connection("root").admin
        # Once the last one has arrived, all before it have.
        seen = f"seen-{time.monotonic_ns()}"
        granted = [_binding(*right) for right in sorted(rights)]
        for binding in granted:
            _done(admin.create_acls([binding]))
        known = admin.describe_acls(_like(None)).result()
        for binding in set(known).difference(granted):
            _done(admin.delete_acls([_like(binding)]))
        _done(admin.create_acls([_binding("WRITE", "topic", seen)]))
        create_topic(self.connection("root"), seen, partitions=1)
        until(lambda: seen in self.connection("ann").admin.list_topics(timeout=10).topics)


def _binding(operation: str, resource: str, name: str) -> AclBinding:
    kind = ResourcePatternType.PREFIXED if name[-1] == "*" else ResourcePatternType.LITERAL
    return AclBinding(
        _TYPES[resource], name.rstrip("*"), kind, "User:ann", "*",
        AclOperation[operation], AclPermissionType.ALLOW,
    )  # fmt: skip


def _like(binding: AclBinding | None) -> AclBindingFilter:
    """A filter that only this binding passes; without one, all do."""
    if binding is None:
        return AclBindingFilter(
            ResourceType.ANY, None, ResourcePatternType.ANY, None, None,
            AclOperation.ANY, AclPermissionType.ANY,
        )  # fmt: skip
    return AclBindingFilter(
        binding.restype, binding.name, binding.resource_pattern_type, binding.principal,
        binding.host, binding.operation, binding.permission_type,
    )  # fmt: skip


def _done(asked: dict[object, Any]) -> None:
    for future in asked.values():
        future.result()


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    made = Guarded(free_port())
    folder: Path = tmp_path_factory.mktemp("guarded")
    with started(folder, made.port, lambda b: _settings(made, b), lambda: _answers(made)):
        root = made.connection("root")
        credential = ScramCredentialInfo(ScramMechanism.SCRAM_SHA_512, 4096)
        ann = UserScramCredentialUpsertion("ann", credential, PASSWORD.encode())
        for future in root.admin.alter_user_scram_credentials([ann]).values():
            future.result()
        for name in ("in", "out"):
            create_topic(root, name, partitions=1)
        prepare_markers(root, 2)
        producer = root.producer({})
        producer.produce("in", json.dumps({"n": 1}))
        producer.flush(30)
        yield made


def _settings(made: Guarded, broker: Broker) -> dict[str, object]:
    listener = f"SASL_PLAINTEXT://{made.servers}"
    plain = f"{_MODULES}.plain.PlainLoginModule required"
    mine = "listener.name.sasl_plaintext"
    return {
        "listeners": f"{listener},CONTROLLER://{HOST}:{broker.controller_port}",
        "advertised.listeners": listener,
        "listener.security.protocol.map": "SASL_PLAINTEXT:SASL_PLAINTEXT,CONTROLLER:PLAINTEXT",
        "inter.broker.listener.name": "SASL_PLAINTEXT",
        "sasl.enabled.mechanisms": "PLAIN,SCRAM-SHA-512",
        "sasl.mechanism.inter.broker.protocol": "PLAIN",
        f"{mine}.plain.sasl.jaas.config": f'{plain} username="root" password="{PASSWORD}" '
        f'user_root="{PASSWORD}";',
        f"{mine}.scram-sha-512.sasl.jaas.config": f"{_MODULES}.scram.ScramLoginModule required;",
        "authorizer.class.name": "org.apache.kafka.metadata.authorizer.StandardAuthorizer",
        "super.users": "User:root;User:ANONYMOUS",  # the controller's listener has no login
    }


def _answers(made: Guarded) -> bool:
    try:
        return bool(made.connection("root").admin.list_topics(timeout=5).brokers)
    except (KafkaError, KafkaException):
        return False


def job(guarded, spark, tmp_path):
    clients = {"servers": guarded.servers, "options": guarded.options("ann")}
    numbers = ms.read_kafka("in", "n int", **clients)
    return numbers.write_kafka("out", name="out", **clients).run(
        "job", spark=spark, checkpoint=tmp_path
    )


def test_a_job_runs_with_the_rights_that_the_document_names(guarded, spark, tmp_path, caplog):
    guarded.give(NEEDED)
    job(guarded, spark, tmp_path).process_all().stop()
    assert "MS328" not in caplog.text
    guarded.give(NEEDED - {("READ", "group", "job")})
    job(guarded, spark, tmp_path).process_all().stop()
    assert "a right is missing to show the lag of the job in Kafka's tools" in caplog.text
    assert "Read on group 'job'" in caplog.text


@pytest.mark.parametrize(
    ("missing", "instead", "named"),
    [
        (("READ", "topic", "in"), None, "Describe on topic 'in'"),
        (("READ", "topic", "in"), ("DESCRIBE", "topic", "in"), "Read on topic 'in'"),
        (("WRITE", "topic", "out"), None, "Describe on topic 'out'"),
        (("WRITE", "topic", "out"), ("READ", "topic", "out"), "Write on topic 'out'"),
        (("READ", "topic", MARKERS), None, f"Create on topic '{MARKERS}'"),
        (("READ", "topic", MARKERS), ("WRITE", "topic", MARKERS), f"Read on topic '{MARKERS}'"),
        (("READ", "group", "millstream-*"), None, "Read on group 'millstream-"),
        (
            ("WRITE", "transactional-id", "millstream-*"),
            None,
            "Write on transactional id 'millstream-",
        ),
    ],
)
def test_a_right_that_is_missing_is_named_in_seconds(
    guarded, spark, tmp_path, missing, instead, named
):
    guarded.give((NEEDED - {missing}) | ({instead} if instead else set()))
    begun = time.monotonic()
    with pytest.raises(KafkaError, match="MS328") as caught:
        job(guarded, spark, tmp_path).process_all()
    assert named in caught.value.what
    assert "kafka-acls.sh" in caught.value.fix
    assert time.monotonic() - begun < 20


def test_a_right_that_is_taken_away_is_named_too(guarded):
    guarded.give(NEEDED)
    slice = KafkaSlice(guarded.connection("ann"), "out", "millstream-taken-away", 0)
    assert transactions().write(slice, 0, [Records(["a"])])
    guarded.give(NEEDED - {("WRITE", "topic", "out")})
    with pytest.raises(KafkaError, match="MS328.*Write on topic 'out'"):
        transactions().write(slice, 1, [Records(["b"])])


@pytest.mark.parametrize(
    ("command", "named"),
    [
        ("topics create new", "Create on topic 'new'"),
        ("topics delete in", "Delete on topic 'in'"),
        ("topics alter in --set retention.ms=1", "AlterConfigs on topic 'in'"),
        ("topics add-partitions in --total 9", "Alter on topic 'in'"),
        ("topics describe out", "Describe on topic 'out'"),
        ("groups describe others", "Describe on group 'others'"),
        ("consume in --group others -e", "Read on group 'others'"),
        ("consume out -e", "Describe on topic 'out'"),
        ("produce in", "Write on topic 'in'"),
    ],
)
def test_the_command_line_names_it(guarded, command, named):
    if command == "topics create new":
        guarded.give({("READ", "topic", "in")})
    asked = [*command.split(), "--servers", guarded.servers]
    for name, value in guarded.options("ann").items():
        asked += ["-X", f"{name}={value}"]
    result = CliRunner().invoke(app, asked)
    assert result.exit_code == 1, result.output
    assert "MS328" in result.stderr
    assert named in result.stderr
    assert PASSWORD not in result.stderr
