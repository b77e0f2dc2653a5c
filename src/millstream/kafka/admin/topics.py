"""The topics of a cluster: described, created, changed and deleted."""

from __future__ import annotations

from collections.abc import Collection, Container, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from confluent_kafka import TopicCollection, TopicPartition
from confluent_kafka.admin import (
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
)

from millstream.kafka.admin.sizes import sizes
from millstream.kafka.client.answers import answers
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import (
    cluster_topics,
    existing_topic,
    id_text,
    partitions_of,
)
from millstream.kafka.client.positions import BEGINNING, END, Position, offsets_at
from millstream.kafka.client.rights import Right
from millstream.kafka.local.jars import Say


@dataclass(frozen=True)
class Partition:
    """A partition: the brokers that have it, and its offsets from ``start`` to before ``end``.

    Without a leader, its offsets are not known. ``size`` is that of the leader's copy in bytes, if
    it was requested.
    """

    number: int
    leader: int | None
    replicas: tuple[int, ...]
    in_sync: tuple[int, ...]
    start: int | None
    end: int | None
    size: int | None = None


@dataclass(frozen=True)
class Topic:
    """A topic, with the settings that differ from those of its brokers."""

    name: str
    id: str
    internal: bool
    partitions: tuple[Partition, ...]
    settings: dict[str, str | None]

    @property
    def replication(self) -> int:
        """How many brokers have each partition."""
        return len(self.partitions[0].replicas)


def describe_topics(
    connection: Connection,
    names: Collection[str],
    *,
    size: bool = False,
    numbers: Container[int] | None = None,
    say: Say = lambda _: None,
) -> list[Topic]:
    """A description of each topic; with ``size``, which takes longer, its bytes too.

    With ``numbers``, only these partitions have offsets.
    """
    topics = cluster_topics(connection)
    for name in names:
        existing_topic(connection, name, topics)
    if not names:
        return []
    described = _described(connection, names)
    resources = [ConfigResource(ResourceType.TOPIC, name) for name in names]
    configs = answers(
        lambda: connection.admin.describe_configs(resources),
        "describe the settings of topics",
        Right("DescribeConfigs", "topic", _only(names)),
    )
    led = [
        TopicPartition(topic.name, partition.id)
        for topic in described.values()
        for partition in topic.partitions
        if partition.leader is not None and (numbers is None or partition.id in numbers)
    ]
    starts = offsets_at(connection.admin, led, BEGINNING)
    ends = offsets_at(connection.admin, led, END)
    bytes_of = sizes(connection, names, say) if size else {}
    return [
        _topic(described[each.name], _settings(configs[each]), starts, ends, bytes_of)
        for each in resources
    ]


def create_topic(
    connection: Connection,
    name: str,
    *,
    partitions: int | None = None,
    replication: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Creates a topic; the brokers choose what is omitted."""

    def ask() -> dict[str, Future[None]]:
        new = NewTopic(
            name,
            num_partitions=-1 if partitions is None else partitions,
            replication_factor=-1 if replication is None else replication,
            config=dict(settings or {}),
        )
        return connection.admin.create_topics([new])

    answers(ask, f"create topic {name!r}", Right("Create", "topic", name))


def alter_topic(
    connection: Connection,
    name: str,
    *,
    set_: Mapping[str, str] | None = None,
    unset: Collection[str] = (),
) -> None:
    """Sets settings of a topic, or resets them to those of the brokers."""
    partitions_of(connection, name)
    entries = [
        ConfigEntry(key, value, incremental_operation=AlterConfigOpType.SET)
        for key, value in (set_ or {}).items()
    ] + [ConfigEntry(key, None, incremental_operation=AlterConfigOpType.DELETE) for key in unset]
    resource = ConfigResource(ResourceType.TOPIC, name, incremental_configs=entries)
    answers(
        lambda: connection.admin.incremental_alter_configs([resource]),
        f"alter topic {name!r}",
        Right("AlterConfigs", "topic", name),
    )


def delete_topic(connection: Connection, name: str) -> None:
    """Deletes a topic and all its records."""
    partitions_of(connection, name)
    answers(
        lambda: connection.admin.delete_topics([name]),
        f"delete topic {name!r}",
        Right("Delete", "topic", name),
    )


def add_partitions(connection: Connection, name: str, total: int) -> None:
    """Adds partitions until the topic has ``total``; records stay where they are."""
    partitions_of(connection, name)
    answers(
        lambda: connection.admin.create_partitions([NewPartitions(name, total)]),
        f"add partitions to topic {name!r}",
        Right("Alter", "topic", name),
    )


def delete_records(
    connection: Connection, name: str, before: Position, partitions: Collection[int] = ()
) -> dict[int, int]:
    """Deletes the records before the position; returns the first offset left in each partition."""
    places = offsets_at(connection.admin, partitions_of(connection, name, partitions), before)
    asked = [TopicPartition(name, each.partition, at) for each, at in places.items()]
    deleted = answers(
        lambda: connection.admin.delete_records(asked),
        f"delete records of {name!r}",
        Right("Delete", "topic", name),
    )
    return {each.partition: left.low_watermark for each, left in deleted.items()}


def _described(connection: Connection, names: Collection[str]) -> dict[str, TopicDescription]:
    asked = TopicCollection(list(names))
    needs = Right("Describe", "topic", _only(names))
    return answers(lambda: connection.admin.describe_topics(asked), "describe topics", needs)


def _only(names: Collection[str]) -> str:
    """The name, if it is one: of several, the cluster does not report which one failed."""
    return next(iter(names)) if len(names) == 1 else ""


def _settings(configs: Mapping[str, ConfigEntry]) -> dict[str, str | None]:
    # The client returns the source as a number.
    own = ConfigSource.DYNAMIC_TOPIC_CONFIG
    return {
        name: entry.value
        for name, entry in sorted(configs.items())
        if ConfigSource(entry.source) is own
    }


def _topic(
    described: TopicDescription,
    settings: dict[str, str | None],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    bytes_of: Mapping[tuple[int, str], int],
) -> Topic:
    partitions = []
    for each in sorted(described.partitions, key=lambda partition: partition.id):
        place = TopicPartition(described.name, each.id)
        leader = None if each.leader is None else each.leader.id
        partitions.append(
            Partition(
                number=each.id,
                leader=leader,
                replicas=tuple(node.id for node in each.replicas),
                in_sync=tuple(node.id for node in each.isr),
                start=starts.get(place),
                end=ends.get(place),
                size=bytes_of.get((leader, f"{described.name}-{each.id}"))
                if leader is not None
                else None,
            )
        )
    return Topic(
        described.name,
        id_text(described.topic_id),
        described.is_internal,
        tuple(partitions),
        settings,
    )
