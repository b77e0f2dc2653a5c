"""The rights that a cluster requires of its clients, and which one is missing."""

from __future__ import annotations

from collections.abc import Collection
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, TopicCollection
from confluent_kafka.admin import AclOperation

from millstream.kafka.client.connection import Connection
from millstream.model.errors import KafkaError

# A right that is missing is reported at once. The first group of a new cluster is not described for
# a minute: brokers create the topic of the offsets then, and the client does not ask again.
_TIMEOUT = 2.0  # seconds


@dataclass(frozen=True)
class Right:
    """An operation on a resource, as Kafka's own tools name them.

    >>> str(Right("Read", "topic", "scores")), str(Right("IdempotentWrite", "cluster"))
    ("Read on topic 'scores'", 'IdempotentWrite on the cluster')
    """

    operation: str
    resource: Literal["topic", "group", "transactional-id", "cluster"]
    name: str = ""

    def __str__(self) -> str:
        kind = self.resource.replace("-", " ")
        return f"{self.operation} on " + (f"{kind} {self.name!r}" if self.name else f"the {kind}")

    @property
    def options(self) -> str:
        """The options of Kafka's own tool that grant the right."""
        resource = f"--{self.resource} {self.name}".rstrip()
        return f"--operation {self.operation} {resource}"


def is_missing_right(failure: Failure) -> bool:
    """Whether a request failed because a right is missing."""
    return failure.code() in (
        Failure.TOPIC_AUTHORIZATION_FAILED,
        Failure.GROUP_AUTHORIZATION_FAILED,
        Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
        Failure.CLUSTER_AUTHORIZATION_FAILED,
    )


def missing_right(right: Right, doing: str) -> KafkaError:
    """The error for a right that the user of a connection does not have.

    >>> print(missing_right(Right("Read", "topic", "scores"), "read topic 'scores'").what)
    a right is missing to read topic 'scores': Read on topic 'scores'
    """
    return KafkaError(
        "MS328",
        f"a right is missing to {doing}: {right}",
        fix="ask an administrator of the cluster: kafka-acls.sh --add --allow-principal User:… "
        + right.options,
    )


def check_topic_rights(
    connection: Connection, topics: Collection[str], operation: AclOperation, doing: str
) -> None:
    """MS328 if an operation on one of the topics is not allowed; in one request."""
    if not topics:
        return
    required = operation.name.title()
    asked = connection.admin.describe_topics(
        TopicCollection(list(topics)), include_authorized_operations=True
    )
    for name, future in asked.items():
        try:
            allowed = future.result().authorized_operations
        except KafkaException as error:
            if is_missing_right(error.args[0]):
                raise missing_right(Right("Describe", "topic", name), f"{doing} {name!r}") from None
            continue  # a topic that is missing is an error of the request that follows
        if allowed is not None and operation not in allowed:
            raise missing_right(Right(required, "topic", name), f"{doing} {name!r}")


def check_group_right(connection: Connection, group: str, doing: str) -> None:
    """MS328 if the group may not be read, and so not be committed to."""
    asked = connection.admin.describe_consumer_groups(
        [group], include_authorized_operations=True, request_timeout=_TIMEOUT
    )
    try:
        allowed = asked[group].result().authorized_operations
    except KafkaException as error:
        if is_missing_right(error.args[0]):
            raise missing_right(Right("Read", "group", group), doing) from None
        return
    if allowed and AclOperation.READ not in allowed:
        raise missing_right(Right("Read", "group", group), doing)
