"""Why records could not be written, and what to do about it."""

from __future__ import annotations

from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.rights import Right, is_missing_right, missing_right
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import MARKERS
from millstream.model.errors import KafkaError

PATIENCE = 120.0
"""Seconds for which brokers may be away before a job that writes to them fails."""

PERMANENT = {
    Failure.MSG_SIZE_TOO_LARGE,
    Failure.TOPIC_AUTHORIZATION_FAILED,
    Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Failure.GROUP_AUTHORIZATION_FAILED,
    Failure.CLUSTER_AUTHORIZATION_FAILED,
    Failure.INVALID_RECORD,
    Failure.INVALID_TRANSACTION_TIMEOUT,
    Failure._UNKNOWN_TOPIC,
    Failure._UNKNOWN_PARTITION,
}
"""The failures that another attempt would repeat."""


def not_written(
    connection: Connection, topic: str, failure: Failure, slice: KafkaSlice | None = None
) -> KafkaError:
    """Records were not written to a topic; with transactions, those of a slice."""
    if is_missing_right(failure):
        return missing_right(_needed_right(topic, failure, slice), f"write to topic {topic!r}")
    if failure.code() == Failure.MSG_SIZE_TOO_LARGE:
        fix = "allow longer records: options={'message.max.bytes': 10_000_000}, and in the topic: "
        fix += f"millstream topics alter {topic} --set max.message.bytes=10000000"
    elif failure.code() == Failure.INVALID_TRANSACTION_TIMEOUT:
        fix = "ask for no more time than the brokers allow: options={'transaction.timeout.ms': "
        fix += "60_000}, or let them allow more: transaction.max.timeout.ms"
    else:
        fix = "check that the brokers run, then run the job again: it resumes where it stopped"
    return KafkaError(
        "MS327",
        f"records could not be written to topic {topic!r} at {connection.servers}: "
        f"{failure.str()} ({failure.name()})",
        fix=fix,
    )


def _needed_right(topic: str, failure: Failure, slice: KafkaSlice | None) -> Right:
    if failure.code() == Failure.CLUSTER_AUTHORIZATION_FAILED:
        return Right("IdempotentWrite", "cluster")
    if slice is not None:
        if failure.code() == Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return Right("Write", "transactional-id", slice.transactional_id)
        if failure.code() == Failure.GROUP_AUTHORIZATION_FAILED:
            return Right("Read", "group", slice.group)
        if MARKERS in failure.str():
            return Right("Read", "topic", MARKERS)
    return Right("Write", "topic", topic)
