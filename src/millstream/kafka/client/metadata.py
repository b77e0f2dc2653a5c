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

from millstream.kafka.client.answers import refused
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.rights import Right, check_topic_rights
from millstream.model.errors import KafkaError, PlanError, did_you_mean


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


def known_topic(topic: str, topics: list[str]) -> str:
    """The topic, if it is among those of the cluster.

    >>> known_topic("scores", ["scores", "totals"])
    'scores'
    """
    if topic in topics:
        return topic
    fix = f"make it: millstream topics create {topic}"
    if own := [name for name in topics if not name.startswith("__")]:
        fix = f"{did_you_mean(topic, own)}; or {fix}"
    raise KafkaError("MS321", f"the cluster has no topic {topic!r}", fix=fix)


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


def topic_ids(connection: Connection, names: Collection[str]) -> dict[str, str]:
    """The id of each topic that is there: a topic that is deleted and created again gets another.

    This is one request, which a broker answers from memory.
    """
    there = _those_there(connection, names) if names else {}
    return {name: written_id(topic.topic_id) for name, topic in there.items()}


def longest_batch(connection: Connection, topic: str) -> int | None:
    """How many bytes of records a topic takes at once; None if we may not know."""
    resource = ConfigResource(ResourceType.TOPIC, topic)
    try:
        settings = connection.admin.describe_configs([resource])[resource].result()
    except KafkaException:
        return None
    return int(settings["max.message.bytes"].value)


def written_id(uuid: Uuid) -> str:
    """An id as Kafka writes it: in base64, with the signs that are safe in addresses.

    >>> written_id(Uuid(-1, -1))
    '_____________________w'
    """
    return str(uuid).translate(str.maketrans("+/", "-_"))


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
