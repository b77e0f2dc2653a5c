"""Reads topics of Kafka: where partitions begin and end, and what becomes of each record."""

from __future__ import annotations

import json
import logging
import re
from collections.abc import Iterable, Iterator
from contextlib import suppress
from dataclasses import dataclass

from confluent_kafka import KafkaException, TopicPartition
from confluent_kafka.admin import AclOperation
from pyspark.sql import Column, DataFrame, SparkSession
from pyspark.sql import functions as F  # noqa: N812 - as everyone calls them
from pyspark.sql.streaming.query import StreamingQuery

from millstream.engine.rows import SPLIT
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import cluster_topics, existing_topic, topic_ids, topic_names
from millstream.kafka.client.positions import END, offsets_at
from millstream.kafka.client.rights import check_group_right, check_topic_rights
from millstream.kafka.delivery.markers import MARKERS
from millstream.kafka.settings import RESERVED, java_settings, librdkafka_settings
from millstream.model.errors import KafkaError, PlanError
from millstream.plan.nodes import KafkaSource, Source
from millstream.plan.positions import Position
from millstream.spark.columns import col, reject_text
from millstream.spark.compat.remote import is_local

OFFSET = "__millstream_offset"
"""The column of a record's offset, whether or not the program reads it."""
REJECTED = "__millstream_refused"
"""The column that contains why a record did not parse, and in a new line the record."""

_log = logging.getLogger(__name__)
_EARLIEST, _LATEST = -2, -1  # how Spark writes them among offsets
_FASTER = {
    # The client would ask for a megabyte at a time, and wait for it each time.
    "kafka.max.partition.fetch.bytes": "16777216",
    "kafka.max.poll.records": "20000",
    "kafka.receive.buffer.bytes": "1048576",
    # Once a task has its records, the client asks for more that may come; and Spark then asks for
    # the ends of the partition, on the same connection, which the broker answers in order. So each
    # task would wait for the next record to come, half a second at most.
    "kafka.fetch.max.wait.ms": "5",
}

_PLACE = ("value", "key", "partition", "offset", "timestamp")


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
        return [_split_name(self.source, topic, number) for topic, number in self.each()]

    def each(self) -> Iterator[tuple[str, int]]:
        """Each partition, by topic and number."""
        for topic, count in self.partitions.items():
            yield from ((topic, number) for number in range(count))

    def offsets(self, position: Position, default: int) -> str:
        """Offsets as Spark requires them: of every partition."""
        known = {(topic, partition): offset for topic, partition, offset in position.offsets}
        offsets: dict[str, dict[str, int]] = {}
        for topic, number in self.each():
            offsets.setdefault(topic, {})[str(number)] = known.get((topic, number), default)
        return json.dumps(offsets)

    def places(self, text: str | None) -> dict[tuple[str, int], int]:
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


def offsets_of(
    topics: Iterable[Topics], reported: Iterable[str | None]
) -> list[dict[tuple[str, int], int]]:
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
        self._committed: list[dict[tuple[str, int], int]] = [{} for _ in self._topics]
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

    def _tell(self, number: int, ends: dict[tuple[str, int], int]) -> None:
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


def records(spark: SparkSession, topics: Topics, streaming: bool) -> DataFrame:
    """The records as rows of the source, with the reason where one did not parse, and the split."""
    source = topics.source
    reading = (spark.readStream if streaming else spark.read).format("kafka")
    for name, value in _options(topics, streaming).items():
        reading = reading.option(name, value)
    parsed = _parsed(reading.load(), source)
    return _in_few_tasks(parsed, spark) if streaming else parsed


def _in_few_tasks(frame: DataFrame, spark: SparkSession) -> DataFrame:
    """A task for each core, where these are known, and not one for each partition.

    On one machine most tasks of short batches would take longer to begin and end than to read.
    """
    if not is_local(spark):
        return frame
    return frame.coalesce(spark.sparkContext.defaultParallelism)


def _options(topics: Topics, streaming: bool) -> dict[str, str]:
    source = topics.source
    given = {name: value for name, value in source.options if name not in RESERVED}
    options = {
        # What a transaction has not committed is not there.
        "kafka.isolation.level": "read_committed",
        **_FASTER,
        **{f"kafka.{n}": value for n, value in java_settings(given).items()},
        # After what options say of it: both clients are to read from the same cluster.
        "kafka.bootstrap.servers": topics.connection.servers,
        "failOnDataLoss": str(source.on_data_loss == "fail").lower(),
        "includeHeaders": str("headers" in source.metadata).lower(),
    }
    if source.pattern is not None:
        # Spark would also take names that have it somewhere in them.
        options["subscribePattern"] = f"^(?!{MARKERS}$)(?:{source.pattern})$"
    else:
        options["subscribe"] = ",".join(source.topics)
    options |= _position(topics, source.start, "starting", _EARLIEST)
    if source.until is not None and not streaming:
        options |= _position(topics, source.until, "ending", _LATEST)
    if source.max_per_batch is not None and streaming:
        options["maxOffsetsPerTrigger"] = str(source.max_per_batch)
    return options


def _position(topics: Topics, position: Position, which: str, default: int) -> dict[str, str]:
    if position.at == "offsets":
        return {f"{which}Offsets": topics.offsets(position, default)}
    if position.at == "timestamp":
        # Where nothing is as new as that, there is nothing to read yet.
        strategy = {"startingOffsetsByTimestampStrategy": "latest"} if which == "starting" else {}
        return {f"{which}Timestamp": str(position.milliseconds), **strategy}
    return {f"{which}Offsets": position.at}


def _split_name(source: KafkaSource, topic: str, partition: int) -> str:
    return f"{topic}-{partition}" if "topic" in source.split_by else str(partition)


def _split(source: KafkaSource) -> Column:
    if "topic" in source.split_by:
        return F.concat_ws("-", "topic", "partition")
    return F.col("partition")  # a number travels faster than a text


def _parsed(frame: DataFrame, source: KafkaSource) -> DataFrame:
    metadata = [col(name) for name in source.metadata]
    split, offset = _split(source).alias(SPLIT), F.col("offset").alias(OFFSET)
    if source.format == "raw":
        return frame.select(*metadata, split, offset)
    valid = F.is_valid_utf8(F.col("value").cast("string"))
    text = F.col("value").cast("string")
    if source.format == "text":
        why = F.when(F.col("value").isNotNull() & ~valid, F.lit("the value is no UTF-8"))
        fine = F.when(why.isNull(), text).alias("value")
        return frame.select(fine, *metadata, split, offset, _rejected(why))
    return frame.select(*map(col, raw_columns(source)), split, offset)


def raw_columns(source: KafkaSource) -> tuple[str, ...]:
    """What Python gets of each record, to decode its value and to say where a bad one is."""
    return tuple(dict.fromkeys([*_PLACE, *source.split_by, *source.metadata]))


def _rejected(why: Column) -> Column:
    """Why a record is rejected, where it is and what it contains."""
    place = [F.col(name) for name in ("topic", "partition", "offset", "timestamp")]
    record = [*place, _as_text("key"), _as_text("value")]
    return F.when(why.isNotNull(), reject_text(why, record)).alias(REJECTED)


def _as_text(name: str) -> Column:
    """Bytes as text if they are some, else in Base64."""
    text = F.col(name).cast("string")
    return F.when(F.is_valid_utf8(text), text).otherwise(F.base64(name)).alias(name)
