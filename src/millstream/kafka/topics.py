"""The topics of a cluster: what there is, and what can be done to it."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from concurrent.futures import Future
from dataclasses import dataclass

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import (
    AclOperation,
    AlterConfigOpType,
    ConfigEntry,
    ConfigResource,
    ConfigSource,
    NewPartitions,
    NewTopic,
    ResourceType,
    TopicDescription,
    TopicMetadata,
)

from millstream.kafka.answers import answers, known_topic, refused
from millstream.kafka.connection import Connection
from millstream.kafka.jars import Say
from millstream.kafka.positions import BEGINNING, END, Position, offsets_at
from millstream.kafka.rights import Right, check_topic_rights
from millstream.kafka.sizes import sizes
from millstream.model.errors import PlanError


@dataclass(frozen=True)
class Partition:
    """A partition: who holds it, and the offsets from ``start`` to before ``end`` that it holds.

    Without a leader, its offsets are not known. ``size`` is that of the leader's copy in bytes, if
    it was asked for.
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
        """How many brokers hold each partition."""
        return len(self.partitions[0].replicas)


def cluster_topics(connection: Connection) -> Mapping[str, TopicMetadata]:
    """All topics that may be seen, by name, with their partitions."""
    try:
        return connection.admin.list_topics(timeout=30).topics
    except KafkaException as error:
        raise refused(error.args[0], "list its topics", Right("Describe", "cluster")) from error


def topic_names(connection: Connection, *, internal: bool = False) -> list[str]:
    """The names of all topics; those that Kafka keeps for itself only with ``internal``."""
    names = sorted(cluster_topics(connection))
    if internal or not names:
        return names
    there = _those_there(connection, names)  # one may have been deleted since it was listed
    return [name for name in names if name in there and not there[name].is_internal]


def existing_topic(connection: Connection, topic: str, topics: Collection[str]) -> str:
    """The topic, if it is among those of the cluster; one that may not be seen is not listed."""
    if topic not in topics:
        check_topic_rights(connection, [topic], AclOperation.DESCRIBE, "see topic")
    return known_topic(topic, sorted(topics))


def partitions_of(
    connection: Connection, topic: str, numbers: Collection[int] = ()
) -> list[TopicPartition]:
    """The partitions of a topic: all, or those with the numbers."""
    topics = cluster_topics(connection)
    there = topics[existing_topic(connection, topic, topics)].partitions
    unknown = [number for number in numbers if number not in there]
    if unknown:
        raise PlanError(
            "MS113",
            f"topic {topic!r} has no partition {unknown[0]}",
            fix=f"name one from 0 to {max(there)}",
        )
    return [TopicPartition(topic, number) for number in sorted(numbers or there)]


def describe_topics(
    connection: Connection,
    names: Collection[str],
    *,
    size: bool = False,
    say: Say = lambda _: None,
) -> list[Topic]:
    """What is known of each topic; with ``size``, which takes longer, its bytes too."""
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
        if partition.leader is not None
    ]
    starts = offsets_at(connection.admin, led, BEGINNING)
    ends = offsets_at(connection.admin, led, END)
    bytes_of = sizes(connection, names, say) if size else {}
    return [
        _topic(described[each.name], _settings(configs[each]), starts, ends, bytes_of)
        for each in resources
    ]


def topic_ids(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """The id of each topic that is there: a topic that is deleted and created again gets another.

    This is one request, which a broker answers from memory.
    """
    there = _those_there(connection, names) if names else {}
    return {name: _id(topic.topic_id) for name, topic in there.items()}


def longest_batch(connection: Connection, topic: str) -> int | None:
    """How many bytes of records a topic takes at once; None if we may not know."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        settings = connection.admin.describe_configs([resource])[resource].result()
    except KafkaException:
        return None
    return int(settings["max.message.bytes"].value)


def create_topic(
    connection: Connection,
    name: str,
    *,
    partitions: int | None = None,
    replication: int | None = None,
    settings: Mapping[str, str] | None = None,
) -> None:
    """Makes a topic; what is left out, the brokers decide."""

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
    """Gives settings of a topic a value of its own, or takes it away again."""
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
    """Deletes the records before the position; gives the first offset left in each partition."""
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


def _those_there(connection: Connection, names: Collection[str]) -> dict[str, TopicDescription]:
    """The same, without topics that do not exist."""
    found: dict[str, TopicDescription] = {}
    for name, future in connection.admin.describe_topics(TopicCollection(list(names))).items():
        try:
            found[name] = future.result()
        except KafkaException as error:
            if error.args[0].code() != Failure.UNKNOWN_TOPIC_OR_PART:
                needs = Right("Describe", "topic", name)
                raise refused(error.args[0], f"describe topic {name!r}", needs) from error
    return found


def _only(names: Collection[str]) -> str:
    """The name, if it is one: of several, the cluster does not say which one it refuses."""
    return next(iter(names)) if len(names) == 1 else ""


def _id(uuid: Uuid) -> str:
    """An id as Kafka writes it: in base64, with the signs that are safe in addresses.

    >>> _id(Uuid(-1, -1))
    '_____________________w'
    """
    return str(uuid).translate(str.maketrans("+/", "-_"))


def _settings(configs: Mapping[str, ConfigEntry]) -> dict[str, str | None]:
    # The client gives the source as a number.
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
        _id(described.topic_id),
        described.is_internal,
        tuple(partitions),
        settings,
    )
