"""Markers: which batch of a slice was written last, kept in Kafka by the slice's transactions.

A marker is an offset that a group has committed in the topic ``millstream-markers``: the group is
that of the sink, the partition that of the slice, and the offset the number of the next batch. The
topic has no records, and no consumer reads by these groups.
"""

from __future__ import annotations

import time

from confluent_kafka import Consumer, KafkaException, TopicPartition

from millstream.kafka.admin.topics import add_partitions, create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import cluster_topics
from millstream.model.errors import KafkaError

MARKERS = "millstream-markers"
"""The topic in which markers are offsets. It has a partition for each slice, and no records."""

FEWEST = 50
"""How many partitions the topic has at least."""

_TIMEOUT = 30.0  # seconds


def prepare_markers(connection: Connection, slices: int) -> None:
    """Creates the topic of the markers, or makes it large enough, and waits until it is there.

    Other jobs may do the same at the same time, and brokers learn of it one after the other.
    """
    deadline = time.monotonic() + _TIMEOUT
    while True:
        topic = cluster_topics(connection).get(MARKERS)
        if topic is not None and len(topic.partitions) >= slices:
            return
        try:
            if topic is None:
                create_topic(connection, MARKERS, partitions=max(slices, FEWEST))
            else:
                add_partitions(connection, MARKERS, slices)
        except KafkaError as error:
            if error.code == "MS328" or time.monotonic() > deadline:
                raise
        time.sleep(0.1)


def read_marker(consumer: Consumer, number: int) -> int:
    """The marker of a slice, by a consumer of its group: the number of the batch to write next."""
    (found,) = consumer.committed([TopicPartition(MARKERS, number)], timeout=_TIMEOUT)
    if found.error is not None:
        raise KafkaException(found.error)
    return max(found.offset, 0)


def marker_after(batch: int, number: int) -> TopicPartition:
    """The marker of a slice once a batch is written, as an offset to commit."""
    return TopicPartition(MARKERS, number, batch + 1)


def is_written(topic: str, batch: int, marker: int) -> bool:
    """Whether the marker of a slice shows that it was written for this batch before.

    Only the newest batch is ever retried. A process that has an older one does not know what was
    written since, and its batch may have other rows than the one of that number had.
    """
    if marker > batch + 1:
        raise KafkaError(
            "MS351",
            f"batch {batch} was to be written to topic {topic!r}, which has batch "
            f"{marker - 1} of this job: another process has continued it, or an older "
            "checkpoint was put back",
            fix="let the job run in one process only; after an older checkpoint was put back, give "
            "it another name, and read from the position that the old one had reached",
        )
    return marker > batch
