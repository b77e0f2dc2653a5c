"""Consumes records of a topic: from a position, alone or in a group, to the end or for ever."""

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

from millstream.kafka.client.answers import raw_answers
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.last_records import last_records, reading_error
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.positions import BEGINNING, END, Position, offsets_at
from millstream.kafka.client.records import Record
from millstream.model.errors import KafkaError, PlanError

_BATCH = 1000
_TICK = 0.2  # seconds
_CHECK_EVERY = 2.0  # seconds: a consumer does not report that its topic was deleted, or has grown
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
    With a group it resumes at the group's offsets, and ``start`` applies only to partitions without
    one; a batch is committed once the next one is requested. Without ``follow`` it also ends when
    the other members of the group have all partitions.
    With ``committed``, records of open and aborted transactions are omitted.
    """
    _check_group(group, start, partitions)
    places = partitions_of(connection, topic, partitions)
    committed = committed or connection.settings.get("isolation.level") == "read_committed"
    consumer = connection.consumer(_settings(group, start, committed))
    try:
        ends = None if follow else offsets_at(connection.admin, places, END, committed=committed)
        if group is None:
            _assign(connection, consumer, places, start, committed, until)
        else:
            consumer.subscribe([topic])
        reading = _Reading(consumer, group, ends)
        checked, known = time.monotonic(), len(places)
        grows = follow and group is None and not partitions
        while not (reading.ended or count == 0 or until()):
            batch = reading.batch(_BATCH if count is None else min(_BATCH, count))
            if batch:
                yield batch
                count = None if count is None else count - len(batch)
            if time.monotonic() - checked > _CHECK_EVERY:
                checked, now = time.monotonic(), _partition_count(connection, topic)
                leaves = group is not None and not follow
                if leaves and _all_taken_by_others(connection, str(group), consumer, places):
                    break
                if grows and now is not None and now > known:
                    added = [TopicPartition(topic, number, 0) for number in range(known, now)]
                    consumer.incremental_assign(added)
                    known = now
            reading.store_offsets()
    finally:
        if not consumer.assignment():
            # Closing alone would leave it in a cooperative group, which waits for it to time out.
            consumer.unsubscribe()
        consumer.close()


def _check_group(group: str | None, start: Position, partitions: Collection[int]) -> None:
    if group == "":
        raise PlanError("MS113", "the group has no name", fix="name one, or leave the option out")
    if group is not None and (partitions or start not in (BEGINNING, END)):
        raise PlanError(
            "MS113",
            "Kafka assigns partitions and offsets to a group, so they cannot be chosen here",
            fix="name no group, or move the group first: millstream groups reset",
        )


def _settings(group: str | None, start: Position, committed: bool) -> dict[str, str | bool]:
    return {
        "group.id": group or "millstream-consume",
        "enable.auto.commit": group is not None,
        "enable.auto.offset.store": False,
        "enable.partition.eof": True,
        "isolation.level": "read_committed" if committed else "read_uncommitted",
        "auto.offset.reset": "latest" if group and start == END else "earliest",
    }


def _assign(
    connection: Connection,
    consumer: Consumer,
    places: list[TopicPartition],
    start: Position,
    committed: bool,
    until: Callable[[], bool],
) -> None:
    """Assigns partitions to a consumer without a group, from a position on."""
    starts = offsets_at(connection.admin, places, start, committed=committed)
    if start.kind == "last":  # not every offset has a record
        first = offsets_at(connection.admin, places, BEGINNING)
        end = offsets_at(connection.admin, places, END, committed=committed)
        starts = last_records(consumer, start.number, first, end, until)
    consumer.assign([_at(each, offset) for each, offset in starts.items()])


class _Reading:
    """A consumer that reads its partitions, to ``ends`` if there are any.

    ``ends`` are the ends when the reading began; later records are not read.
    """

    def __init__(
        self, consumer: Consumer, group: str | None, ends: dict[TopicPartition, int] | None
    ) -> None:
        self._consumer = consumer
        self._group = group
        self._ends = ends
        self._at_end: set[TopicPartition] = set()
        self._next: dict[TopicPartition, int] = {}

    @property
    def ended(self) -> bool:
        """Whether it has reached the ends of all its partitions."""
        assigned = self._consumer.assignment() if self._ends is not None else []
        return bool(assigned) and self._at_end.issuperset(assigned)

    def batch(self, size: int) -> list[Record]:
        """The records that are available; it waits a little for the first."""
        records: list[Record] = []
        while len(records) < size:
            message = self._consumer.poll(0 if records else _TICK)
            if message is None:
                break
            if message.error() is not None:
                self._handle_error(message)
                if not records:
                    break
            else:
                record = Record.of(message)
                if self._is_before_end(record):
                    records.append(record)
                    self._next[TopicPartition(record.topic, record.partition)] = record.offset + 1
        return records

    def store_offsets(self) -> None:
        """Lets the group resume after the batch, and after the ends that were reached."""
        if self._group is not None and self._next:
            ours = self._consumer.assignment()  # another member may have some of them by now
            self._consumer.store_offsets(
                offsets=[_at(place, self._next[place]) for place in ours if place in self._next]
            )
        self._next.clear()

    def _is_before_end(self, record: Record) -> bool:
        place = TopicPartition(record.topic, record.partition)
        end = None if self._ends is None else self._ends.get(place)
        if end is not None and record.offset + 1 >= end:
            self._at_end.add(place)
        return end is None or record.offset < end

    def _handle_error(self, message: Message) -> None:
        failure: Any = message.error()
        topic: Any = message.topic()
        partition: Any = message.partition()
        if failure.code() == Failure._PARTITION_EOF:
            place = TopicPartition(topic, partition)
            self._at_end.add(place)
            seen: Any = message.offset()
            # Records after the requested end have not been read.
            self._next[place] = min(seen, (self._ends or {}).get(place, seen))
        elif failure.code() in _GONE:
            raise _gone(topic)
        else:
            raise reading_error(failure, topic, self._group)


def _partition_count(connection: Connection, topic: str) -> int | None:
    try:
        topics = connection.admin.list_topics(timeout=_CHECK_EVERY).topics
    except KafkaException:
        return None  # no broker answers now, and the consumer waits for one too
    if topic not in topics:
        raise _gone(topic)
    return len(topics[topic].partitions)


def _all_taken_by_others(
    connection: Connection, group: str, consumer: Consumer, places: Collection[TopicPartition]
) -> bool:
    """Whether the consumer is in its group, and other members have been given all partitions.

    That it has none itself is not enough: others may be about to release some.
    """
    try:
        described = raw_answers(lambda: connection.admin.describe_consumer_groups([group]))[group]
    except KafkaException:
        return False  # the group does not exist yet, or no broker answers now
    members = {each.member_id: each.assignment.topic_partitions for each in described.members}
    own = members.pop(consumer.memberid() or "", None)
    theirs = {place for places in members.values() for place in places}
    settled = described.state is ConsumerGroupState.STABLE and own is not None
    return settled and theirs.issuperset(places)


def _gone(topic: str) -> KafkaError:
    return KafkaError(
        "MS321",
        f"topic {topic!r} was deleted while it was being read",
        fix="list the topics that exist: millstream topics list",
    )


def _at(place: TopicPartition, offset: int) -> TopicPartition:
    return TopicPartition(place.topic, place.partition, offset)
