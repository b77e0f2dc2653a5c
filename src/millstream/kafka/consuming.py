"""Reads records of a topic: from where, by whom, until when."""

from __future__ import annotations

from collections.abc import Collection, Generator
from typing import Any

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import KafkaError as Failure

from millstream.kafka.answers import refused
from millstream.kafka.connection import Connection
from millstream.kafka.positions import BEGINNING, END, Position, offsets_at
from millstream.kafka.records import Record
from millstream.kafka.topics import partitions_of
from millstream.model.errors import KafkaError, PlanError

_BATCH = 1000
_TICK = 0.2  # seconds: Python hears Ctrl-C between two polls
_GONE = {Failure.UNKNOWN_TOPIC_OR_PART, Failure._UNKNOWN_TOPIC, Failure._UNKNOWN_PARTITION}


def consume(
    connection: Connection,
    topic: str,
    *,
    start: Position = END,
    partitions: Collection[int] = (),
    group: str | None = None,
    count: int | None = None,
    follow: bool = True,
    committed: bool = False,
) -> Generator[list[Record], None, None]:
    """Batches of records, in each partition in its order.

    It ends after ``count`` records, or without ``follow`` at the end that the partitions had when
    it began. With a group it goes on where the group is, and ``start`` counts only where the group
    has not been; a batch is committed once the next one is asked for.
    With ``committed``, records of open and aborted transactions are left out.
    """
    places = partitions_of(connection, topic, partitions)
    if group is not None and (partitions or start not in (BEGINNING, END)):
        raise PlanError(
            "MS113",
            "a group is told by Kafka what to read, so partitions and other places cannot be named",
            fix="name no group, or move the group first: millstream groups reset",
        )
    consumer = connection.consumer(
        {
            "group.id": group or "millstream-consume",
            "enable.auto.commit": group is not None,
            "enable.auto.offset.store": False,
            "enable.partition.eof": not follow,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "auto.offset.reset": "latest" if group and start == END else "earliest",
        }
    )
    try:
        ends = None if follow else offsets_at(connection.admin, places, END, committed=committed)
        if group is None:
            starts = offsets_at(connection.admin, places, start, committed=committed)
            consumer.assign([_at(each, offset) for each, offset in starts.items()])
        else:
            consumer.subscribe([topic])
        reading = _Reading(consumer, group is not None, ends)
        while not reading.over and (count is None or count > 0):
            batch = reading.batch(_BATCH if count is None else min(_BATCH, count))
            if batch:
                yield batch
                reading.done_with(batch)
                count = None if count is None else count - len(batch)
    finally:
        consumer.close()


class _Reading:
    """A consumer on its way through its partitions, to their ends if it is to stop there.

    ``ends`` are the ends when the reading began; what comes later is not read.
    """

    def __init__(
        self, consumer: Consumer, commits: bool, ends: dict[TopicPartition, int] | None
    ) -> None:
        self._consumer = consumer
        self._commits = commits
        self._ends = ends
        self._ended: set[TopicPartition] = set()

    @property
    def over(self) -> bool:
        """Whether all partitions that it reads are at their end."""
        assigned = self._consumer.assignment() if self._ends is not None else []
        return bool(assigned) and self._ended.issuperset(assigned)

    def batch(self, size: int) -> list[Record]:
        """Records that are there, waiting a little for the first."""
        records: list[Record] = []
        while len(records) < size:
            message = self._consumer.poll(0 if records else _TICK)
            if message is None:
                break
            if message.error() is not None:
                self._heard(message)
                if not records:
                    break
            else:
                record = Record.of(message)
                if self._is_in_time(record):
                    records.append(record)
        return records

    def done_with(self, batch: list[Record]) -> None:
        """Lets the group go on behind the batch."""
        if self._commits:
            behind = {(each.topic, each.partition): each.offset + 1 for each in batch}
            self._consumer.store_offsets(
                offsets=[TopicPartition(*place, at) for place, at in behind.items()]
            )

    def _is_in_time(self, record: Record) -> bool:
        place = TopicPartition(record.topic, record.partition)
        end = None if self._ends is None else self._ends.get(place)
        if end is not None and record.offset + 1 >= end:
            self._ended.add(place)
        return end is None or record.offset < end

    def _heard(self, message: Message) -> None:
        failure: Any = message.error()
        topic: Any = message.topic()
        partition: Any = message.partition()
        if failure.code() == Failure._PARTITION_EOF:
            self._ended.add(TopicPartition(topic, partition))
        elif failure.code() in _GONE:
            raise KafkaError(
                "MS321",
                f"topic {topic!r} is gone: it was deleted while it was being read",
                fix="see what is there: millstream topics list",
            )
        else:
            raise refused(failure, f"read topic {topic!r}")


def _at(place: TopicPartition, offset: int) -> TopicPartition:
    return TopicPartition(place.topic, place.partition, offset)
