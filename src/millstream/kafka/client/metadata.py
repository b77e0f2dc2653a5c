"""What a cluster reports about its topics: their names, ids and partitions."""

from __future__ import annotations

from collections.abc import Collection, Mapping

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, TopicCollection, TopicPartition, Uuid
from confluent_kafka.admin import (
    AclOperation,
    ConfigResource,
    ResourceType,
    TopicDescription,
    TopicMetadata,
)

from millstream.kafka.client.answers import request_error
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.rights import Right, check_topic_rights
from millstream.model.errors import KafkaError, PlanError, did_you_mean


def cluster_topics(connection: Connection) -> Mapping[str, TopicMetadata]:
    """All topics that the user may see, by name, with their partitions."""
    try:
        return connection.admin.list_topics(timeout=30).topics
    except KafkaException as error:
        raise request_error(
            error.args[0], "list its topics", Right("Describe", "cluster")
        ) from error


def topic_names(connection: Connection, *, internal: bool = False) -> list[str]:
    """The names of all topics; Kafka's internal ones only with ``internal``."""
    names = sorted(cluster_topics(connection))
    if internal or not names:
        return names
    existing = _existing(connection, names)  # one may have been deleted since it was listed
    return [name for name in names if name in existing and not existing[name].is_internal]


def existing_topic(connection: Connection, topic: str, topics: Collection[str]) -> str:
    """The topic, if the cluster has it; MS328 for one that the user may not see, else MS321."""
    if topic not in topics:
        check_topic_rights(connection, [topic], AclOperation.DESCRIBE, "see topic")
    return known_topic(topic, sorted(topics))


def known_topic(topic: str, topics: list[str]) -> str:
    """The topic, if it is one of the cluster's; else MS321.

    >>> known_topic("scores", ["scores", "totals"])
    'scores'
    """
    if topic in topics:
        return topic
    fix = f"create it: millstream topics create {topic}"
    if own := [name for name in topics if not name.startswith("__")]:
        fix = f"{did_you_mean(topic, own)}; or {fix}"
    raise KafkaError("MS321", f"the cluster has no topic {topic!r}", fix=fix)


def partitions_of(
    connection: Connection, topic: str, numbers: Collection[int] = ()
) -> list[TopicPartition]:
    """The partitions of a topic: all, or those with the numbers."""
    topics = cluster_topics(connection)
    existing = topics[existing_topic(connection, topic, topics)].partitions
    unknown = [number for number in numbers if number not in existing]
    if unknown:
        raise PlanError(
            "MS113",
            f"topic {topic!r} has no partition {unknown[0]}",
            fix=f"write one from 0 to {max(existing)}",
        )
    return [TopicPartition(topic, number) for number in sorted(numbers or existing)]


def topic_ids(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """The id of each topic that exists: one that is deleted and created again gets another id.

    This is one request, which a broker answers from memory.
    """
    existing = _existing(connection, names) if names else {}
    return {name: id_text(topic.topic_id) for name, topic in existing.items()}


def longest_batch(connection: Connection, topic: str) -> int | None:
    """How many bytes a batch of records in a topic may have; None if the user may not see it."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        settings = connection.admin.describe_configs([resource])[resource].result()
    except KafkaException:
        return None
    return int(settings["max.message.bytes"].value)


def id_text(uuid: Uuid) -> str:
    """An id as Kafka writes it: in base64, with the characters that are safe in URLs.

    >>> id_text(Uuid(-1, -1))
    '_____________________w'
    """
    return str(uuid).translate(str.maketrans("+/", "-_"))


def _existing(connection: Connection, names: Collection[str]) -> dict[str, TopicDescription]:
    """The description of each topic that exists."""
    found: dict[str, TopicDescription] = {}
    for name, future in connection.admin.describe_topics(TopicCollection(list(names))).items():
        try:
            found[name] = future.result()
        except KafkaException as error:
            if error.args[0].code() != Failure.UNKNOWN_TOPIC_OR_PART:
                needs = Right("Describe", "topic", name)
                raise request_error(error.args[0], f"describe topic {name!r}", needs) from error
    return found
