"""Reads records of a topic: from where, by whom, until when."""

from __future__ import annotations

import time
from collections.abc import Callable, Collection, Generator
from typing import Any

from confluent_kafka import (
    Consumer,
    ConsumerGroupState,
    KafkaException,
    Message,
    TopicPartition,
)
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.answers import awaited
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.last_records import last_records, refused_reading
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.positions import BEGINNING, END, Position, offsets_at
from millstream.kafka.client.records import Record
from millstream.model.errors import KafkaError, PlanError

_BATCH = 1000
_TICK = 0.2  # seconds
_LOOK_EVERY = 2.0  # seconds: a consumer does not tell that its topic was deleted, or has grown
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
    until: Callable[[], bool] = lambda: False,
) -> Generator[list[Record], None, None]:
    """Batches of records, in each partition in its order.

    It ends after ``count`` records, or without ``follow`` at the end that the partitions had when
    it began, or soon after ``until`` is true. Where it follows, partitions that are added are read.
    With a group it goes on where the group is, and ``start`` counts only where the group has not
    been; a batch is committed once the next one is asked for. Without ``follow`` it also ends where
    the other members of the group leave nothing for it to read.
    With ``committed``, records of open and aborted transactions are left out.
    """
    if group == "":
        raise PlanError("MS113", "the group has no name", fix="name one, or leave the option out")
    places = partitions_of(connection, topic, partitions)
    if group is not None and (partitions or start not in (BEGINNING, END)):
        raise PlanError(
            "MS113",
            "a group is told by Kafka what to read, so partitions and other places cannot be named",
            fix="name no group, or move the group first: millstream groups reset",
        )
    committed = committed or connection.settings.get("isolation.level") == "read_committed"
    consumer = connection.consumer(
        {
            "group.id": group or "millstream-consume",
            "enable.auto.commit": group is not None,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "isolation.level": "read_committed" if committed else "read_uncommitted",
            "auto.offset.reset": "latest" if group and start == END else "earliest",
        }
    )
    try:
        ends = None if follow else offsets_at(connection.admin, places, END, committed=committed)
        if group is None:
            starts = offsets_at(connection.admin, places, start, committed=committed)
            if start.kind == "last":  # not every offset has a record
                first = offsets_at(connection.admin, places, BEGINNING)
                end = offsets_at(connection.admin, places, END, committed=committed)
                starts = last_records(consumer, start.number, first, end, until)
            consumer.assign([_at(each, offset) for each, offset in starts.items()])
        else:
            consumer.subscribe([topic])
        reading = _Reading(consumer, group, ends)
        looked, known = time.monotonic(), len(places)
        grows = follow and group is None and not partitions
        while not (reading.over or count == 0 or until()):
            batch = reading.batch(_BATCH if count is None else min(_BATCH, count))
            if batch:
                yield batch
                count = None if count is None else count - len(batch)
            if time.monotonic() - looked > _LOOK_EVERY:
                looked, there = time.monotonic(), _partitions_now(connection, topic)
                if group and not follow and _others_have(connection, group, consumer, places):
                    break
                if grows and there is not None and there > known:
                    added = [TopicPartition(topic, number, 0) for number in range(known, there)]
                    consumer.incremental_assign(added)
                    known = there
            reading.done()
    finally:
        if not consumer.assignment():
            # Closing alone would leave it in a cooperative group, which waits for it to time out.
            consumer.unsubscribe()
        consumer.close()


class _Reading:
    """A consumer on its way through its partitions, to their ends if it is to stop there.

    ``ends`` are the ends when the reading began; what comes later is not read.
    """

    def __init__(
        self, consumer: Consumer, group: str | None, ends: dict[TopicPartition, int] | None
    ) -> None:
        self._consumer = consumer
        self._group = group
        self._ends = ends
        self._ended: set[TopicPartition] = set()
        self._behind: dict[TopicPartition, int] = {}

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
                    self._behind[TopicPartition(record.topic, record.partition)] = record.offset + 1
        return records

    def done(self) -> None:
        """Lets the group go on behind the batch, and behind the ends that were seen."""
        if self._group is not None and self._behind:
            ours = self._consumer.assignment()  # another member may have got some by now
            self._consumer.store_offsets(
                offsets=[_at(place, self._behind[place]) for place in ours if place in self._behind]
            )
        self._behind.clear()

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
            place = TopicPartition(topic, partition)
            self._ended.add(place)
            seen: Any = message.offset()
            # What came after the end that was asked for has not been read.
            self._behind[place] = min(seen, (self._ends or {}).get(place, seen))
        elif failure.code() in _GONE:
            raise _gone(topic)
        else:
            raise refused_reading(failure, topic, self._group)


def _partitions_now(connection: Connection, topic: str) -> int | None:
    try:
        topics = connection.admin.list_topics(timeout=_LOOK_EVERY).topics
    except KafkaException:
        return None  # no broker answers just now, and the consumer waits for one too
    if topic not in topics:
        raise _gone(topic)
    return len(topics[topic].partitions)


def _others_have(
    connection: Connection, group: str, consumer: Consumer, places: Collection[TopicPartition]
) -> bool:
    """Whether the consumer is in its group, and other members have been given all partitions.

    That it has none itself does not tell: others may be about to hand some over.
    """
    try:
        asked = awaited(lambda: connection.admin.describe_consumer_groups([group]))[group]
    except KafkaException:
        return False  # the group is not there yet, or no broker answers just now
    members = {each.member_id: each.assignment.topic_partitions for each in asked.members}
    own = members.pop(consumer.memberid() or "", None)
    theirs = {place for places in members.values() for place in places}
    settled = asked.state is ConsumerGroupState.STABLE and own is not None
    return settled and theirs.issuperset(places)


def _gone(topic: str) -> KafkaError:
    return KafkaError(
        "MS321",
        f"topic {topic!r} is gone: it was deleted while it was being read",
        fix="see what is there: millstream topics list",
    )


def _at(place: TopicPartition, offset: int) -> TopicPartition:
    return TopicPartition(place.topic, place.partition, offset)
