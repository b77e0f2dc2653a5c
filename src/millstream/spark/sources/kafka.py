"""The topics of a source: what there is when a job starts, and how far the job has come."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass, replace

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation
from pyspark.sql.streaming.query import StreamingQuery

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import cluster_topics, existing_topic, topic_ids, topic_names
from millstream.kafka.client.positions import BEGINNING, END, offsets_at
from millstream.kafka.client.positions import Position as ClientPosition
from millstream.kafka.client.ranges import Place
from millstream.kafka.client.rights import check_group_right, check_topic_rights
from millstream.kafka.delivery.markers import MARKERS
from millstream.kafka.settings import librdkafka_settings
from millstream.model.errors import KafkaError, PlanError
from millstream.plan.nodes import KafkaSource, Source
from millstream.plan.positions import Position

_log = logging.getLogger(__name__)

Offsets = dict[Place, int]


@dataclass(frozen=True)
class Topics:
    """The topics of a source, as they are when the job starts: partitions and ids by name."""

    source: KafkaSource
    connection: Connection
    partitions: dict[str, int]
    ids: dict[str, str]

    @property
    def splits(self) -> list[str]:
        """The names of the splits: all that are there, so that a silent one is waited for."""
        return [self.split_name(topic, number) for topic, number in self.each()]

    def split_name(self, topic: str, partition: int) -> str:
        """The name of the split that a partition is."""
        return f"{topic}-{partition}" if "topic" in self.source.split_by else str(partition)

    def each(self) -> Iterator[tuple[str, int]]:
        """Each partition, by topic and number."""
        for topic, count in self.partitions.items():
            yield from ((topic, number) for number in range(count))

    def offsets(self, position: Position, default: ClientPosition) -> Offsets:
        """The offset of a position in each partition; of ``default`` in those it does not name."""
        places = [TopicPartition(*each) for each in self.each()]
        admin, words = self.connection.admin, {"earliest": BEGINNING, "latest": END}
        if position.milliseconds is not None:
            # Where nothing is as new as that, there is nothing to read yet.
            at = ClientPosition("timestamp", position.milliseconds)
        else:
            at = words.get(position.at, default)
        found = offsets_at(admin, places, at, committed=True)
        offsets = {(each.topic, each.partition): offset for each, offset in found.items()}
        return offsets | {(topic, n): offset for topic, n, offset in position.offsets}

    def places(self, text: str | None) -> Offsets:
        """Offsets as Spark reports them; none if they are those of another source."""
        with suppress(ValueError):
            ends = json.loads(text or "{}")
            if isinstance(ends, dict) and all(self._has(*each) for each in ends.items()):
                return {(topic, int(n)): end for topic in ends for n, end in ends[topic].items()}
        return {}

    def fitting(self, names: Iterable[str]) -> list[str]:
        """Of these names, those of topics that the source reads."""
        like = self.source.pattern
        return [
            name
            for name in names
            if (name in self.source.topics if like is None else re.fullmatch(like, name))
        ]

    def _has(self, topic: str, ends: object) -> bool:
        return bool(self.fitting([topic])) and isinstance(ends, dict)


def unopened(topics: Topics) -> Topics:
    """The same without clients, which do not travel."""
    connection = topics.connection
    return replace(topics, connection=Connection(connection.servers, connection.settings))


def opened_topics(sources: Iterable[Source]) -> dict[str, Topics]:
    """The topics of each source that reads some, by its name; in seconds, or with an error."""
    return {s.name: _opened(s) for s in sources if isinstance(s, KafkaSource)}


def _opened(source: KafkaSource) -> Topics:
    connection = Connection.to(source.servers, librdkafka_settings(dict(source.options)))
    there = {name: len(topic.partitions) for name, topic in cluster_topics(connection).items()}
    names: Iterable[str] = source.topics
    if source.pattern is not None:  # which is not meant for what Kafka and we keep there
        own = there.keys() & set(topic_names(connection)) - {MARKERS}
        names = [name for name in own if re.fullmatch(source.pattern, name)]
    known = {existing_topic(connection, name, there): there[name] for name in sorted(names)}
    check_topic_rights(connection, known, AclOperation.READ, "read topic")
    topics = Topics(source, connection, known, topic_ids(connection, known))
    _check_offsets(topics, "start", source.start)
    if source.until is not None:
        _check_offsets(topics, "until", source.until)
    return topics


def _check_offsets(topics: Topics, what: str, position: Position) -> None:
    """Refuses what is not there: Spark would wait for it in vain, or take it for lost."""
    asked = {TopicPartition(topic, number): offset for topic, number, offset in position.offsets}
    for place in asked:
        if place.partition >= topics.partitions.get(place.topic, 0):
            raise PlanError(
                "MS113",
                f"an offset is given for partition {place.partition} of {place.topic!r}, which has "
                f"{topics.partitions.get(place.topic, 0)} partitions",
                fix="give offsets of partitions that there are, numbered from 0",
                step=topics.source.name,
            )
    ends = offsets_at(topics.connection.admin, asked, END, committed=True)
    for place, offset in asked.items():
        if offset > ends[place]:
            raise PlanError(
                "MS113",
                f"{what} has offset {offset} for partition {place.partition} of {place.topic!r}, "
                f"which ends at {ends[place]}",
                fix=f"give an offset up to {ends[place]}, or write {what}='latest'",
                step=topics.source.name,
            )


def offsets_of(topics: Iterable[Topics], reported: Iterable[str | None]) -> list[Offsets]:
    """Of what Spark reports of its sources, in their order, the offsets of those that are ours.

    The others may be topics, too: those of a DataFrame that the program has from elsewhere.
    """
    each_source, texts = list(topics), list(reported)
    lines = source_lines(each_source, texts)
    return [
        topics.places(None if line is None else texts[line])
        for topics, line in zip(each_source, lines, strict=True)
    ]


def source_lines(topics: Iterable[Topics], reported: Iterable[str | None]) -> list[int | None]:
    """Which text of those that Spark has for its sources, in their order, is of which topics."""
    left = dict(enumerate(reported))
    found: list[int | None] = []
    for each in topics:
        mine = next((number for number, text in left.items() if each.places(text)), None)
        left.pop(-1 if mine is None else mine, None)
        found.append(mine)
    return found


def check_unchanged(topics: Topics) -> None:
    """MS350: a topic that is read once, to its end, was created again while it was read."""
    before = topics.ids
    for name, id in topic_ids(topics.connection, before).items():
        if id != before[name]:
            raise KafkaError(
                "MS350",
                f"topic {name!r} was deleted and created again while it was read",
                fix="run the program again: it reads the new topic",
                step=topics.source.name,
            )


class Positions:
    """How far a job has come in its topics.

    After each batch it is committed to a group named after the job, so that Kafka's tools show its
    lag. The job itself does not depend on it: Spark keeps its own account, in the checkpoint.
    """

    def __init__(self, job: str, topics: Iterable[Topics]) -> None:
        self._topics = [
            each for each in topics if not each.source.bounded and _may_commit(each, job)
        ]
        settings = {"group.id": job, "enable.auto.commit": False}
        self._consumers = [each.connection.consumer(settings) for each in self._topics]
        self._committed: list[Offsets] = [{} for _ in self._topics]
        self._batch: int | None = None

    def follow(self, query: StreamingQuery, batch: int | None) -> None:
        """Takes note of a batch that is done, as soon as Spark reports it."""
        if not self._topics or batch == self._batch:
            return  # a report is long, and takes the JVM a while to make
        progress = query.lastProgress
        if progress is None or progress.batchId == self._batch:
            return
        self._batch = progress.batchId
        ends_of = offsets_of(self._topics, [each.endOffset for each in progress.sources])
        for number, ends in enumerate(ends_of):
            if ends and ends != self._committed[number]:
                self._tell(number, ends)

    def close(self) -> None:
        """Lets go of the connections."""
        for consumer in self._consumers:
            consumer.close()

    def _tell(self, number: int, ends: Offsets) -> None:
        offsets = [TopicPartition(*place, end) for place, end in ends.items()]
        try:
            self._consumers[number].commit(offsets=offsets, asynchronous=False)
            self._committed[number] = ends
        except KafkaException as error:
            _log.warning("the positions of the group were not committed: %s", error)


def _may_commit(topics: Topics, group: str) -> bool:
    try:
        check_group_right(topics.connection, group, "show the lag of the job in Kafka's tools")
    except KafkaError as error:
        _log.warning("%s", error)
        return False
    return True
