"""How a program speaks of Kafka: topics, where to begin and end, and what records hold."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from datetime import UTC, datetime
from typing import Any, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError, did_you_mean
from millstream.plan.build.files import LINES
from millstream.plan.nodes import RecordFormat
from millstream.plan.positions import Position
from millstream.plan.types.decodable import check_decodable
from millstream.plan.types.schema import Field, Schema

RECORD = Schema(
    (
        Field("key", "BINARY"),
        Field("value", "BINARY"),
        Field("topic", "STRING"),
        Field("partition", "INT"),
        Field("offset", "BIGINT"),
        Field("timestamp", "TIMESTAMP"),
        Field("headers", "ARRAY<STRUCT<key: STRING, value: BINARY>>"),
    )
)
"""All that there is to know of a record."""

_TOPIC = re.compile(r"[A-Za-z0-9._-]{1,249}")
_SERVER = re.compile(r"(?!https?:)[^\s,]+:(?P<port>\d{1,5})", re.IGNORECASE)


def checked_topics(topics: Any, pattern: Any) -> tuple[tuple[str, ...], str | None]:
    """Names of topics, or a pattern of names.

    >>> checked_topics("scores", None), checked_topics(None, "scores-.*")
    ((('scores',), None), ((), 'scores-.*'))
    """
    if (topics is None) == (pattern is None):
        raise PlanError(
            "MS113",
            "read_kafka() needs topics or a pattern, and not both",
            fix="write read_kafka('scores') or read_kafka(pattern='scores-.*')",
        )
    if pattern is not None:
        try:
            re.compile(pattern)
        except (TypeError, re.error) as error:
            raise PlanError(
                "MS113",
                f"pattern={pattern!r} is no regular expression: {error}",
                fix="give one that matches whole names of topics, such as 'scores-.*'",
            ) from error
        return (), str(pattern)
    names = (topics,) if isinstance(topics, str) else tuple(topics)
    if not names:
        raise PlanError("MS113", "read_kafka([]) has no topics", fix="name at least one")
    return tuple(dict.fromkeys(map(checked_topic, names))), None


def checked_topic(topic: Any) -> str:
    """The name of a topic, if Kafka takes it for one."""
    if isinstance(topic, str) and _TOPIC.fullmatch(topic) and topic not in (".", ".."):
        return topic
    raise PlanError(
        "MS113",
        f"{topic!r} is no name of a topic",
        fix="use letters, digits, '.', '_' and '-', at most 249 of them",
    )


def checked_servers(servers: Any) -> str | None:
    """Addresses of brokers; None: those that are found when the job runs."""
    return None if servers is None else server_addresses(servers, "servers")


def server_addresses(given: Any, what: str) -> str:
    """Addresses of brokers, as Kafka's clients take them.

    >>> server_addresses(["kafka-1:9092", "kafka-2:9092"], "servers")
    'kafka-1:9092,kafka-2:9092'
    """
    texts = given.split(",") if isinstance(given, str) else map(str, given)
    addresses = [text.strip() for text in texts]
    for address in addresses:
        found = _SERVER.fullmatch(address)
        if found is None or not 0 < int(found["port"]) < 65536:
            raise PlanError(
                "MS113",
                f"{what} has {address!r}, which is no address of a broker",
                fix="give host:port, with a port from 1 to 65535, such as 'localhost:9092'; "
                "several with commas between them",
            )
    return ",".join(addresses)


def checked_position(position: Any, what: str, topics: tuple[str, ...]) -> Position:
    """A place to begin or end at.

    >>> checked_position("earliest", "start", ("scores",))
    Position(at='earliest', milliseconds=None, offsets=())
    >>> str(checked_position({0: 5, 1: 7}, "start", ("scores",)))
    'offsets scores-0: 5, scores-1: 7'
    >>> str(checked_position("2024-05-01 12:00", "until", ("scores",)))
    '2024-05-01T12:00:00+00:00'
    """
    if position == "earliest" and what == "start":
        return Position("earliest")
    if position == "latest":
        return Position("latest")
    if isinstance(position, Mapping) and position:
        return Position("offsets", offsets=_offsets(position, what, topics))
    moment = position
    if isinstance(position, str):
        try:
            moment = datetime.fromisoformat(position)
        except ValueError:
            moment = None
    if isinstance(moment, datetime):
        aware = moment.replace(tzinfo=UTC) if moment.tzinfo is None else moment
        return Position("timestamp", round(aware.timestamp() * 1000))
    words = "'earliest', 'latest'" if what == "start" else "'latest'"
    raise PlanError(
        "MS113",
        f"{what}={position!r} is no place in a topic",
        fix=f"write {words}, an instant such as '2024-05-01T12:00:00Z' or a datetime, or "
        "offsets by partition, {0: 17, 1: 42}, with several topics {'scores': {0: 17}}",
    )


def _offsets(
    given: Mapping[Any, Any], what: str, topics: tuple[str, ...]
) -> tuple[tuple[str, int, int], ...]:
    by_topic = given if all(isinstance(key, str) for key in given) else None
    if by_topic is None and len(topics) != 1:
        raise PlanError(
            "MS113",
            f"{what}={given!r} does not say of which topic these partitions are",
            fix=f"write {what}={{'scores': {{0: 17}}}}",
        )
    found = []
    for topic, partitions in (by_topic or {topics[0]: given}).items():
        if topics and topic not in topics:
            raise PlanError(
                "MS113",
                f"{what} has offsets of {topic!r}, which is not read",
                fix=did_you_mean(topic, topics),
            )
        for partition, offset in partitions.items():
            if not all(isinstance(n, int) and n >= 0 for n in (partition, offset)):
                raise PlanError(
                    "MS113",
                    f"{what} has {partition!r}: {offset!r}, which is no partition and offset",
                    fix="both are whole numbers from 0",
                )
            found.append((topic, partition, offset))
    return tuple(sorted(found))


def record_format(
    format: Any, schema: Any
) -> tuple[RecordFormat | Callable[[Any], Any], Schema | None]:
    """How records are read, and the columns that are read from their values.

    >>> record_format(None, None)
    ('raw', None)
    >>> record_format("text", None)[1].names
    ('value',)
    """
    if callable(format):
        return format, None
    formats: tuple[RecordFormat, ...] = get_args(RecordFormat)
    given = format or ("raw" if schema is None else "json")
    chosen = one_of(given, "format", formats, ", or give a function of the record")
    if chosen in ("raw", "text"):
        if schema is not None:
            raise PlanError(
                "MS113",
                f"schema={schema!r} cannot be read from records whose format is {chosen!r}",
                fix="leave schema out, or say what the values are: format='json'",
            )
        return chosen, None if chosen == "raw" else LINES
    if schema is None:
        raise PlanError(
            "MS111",
            f"nothing says what columns the {chosen} records have",
            fix="give schema='user string, points int', say, or a dataclass",
        )
    columns = Schema.of(schema)
    check_decodable(columns, chosen, "records", "give format a function that makes rows of records")
    return chosen, columns


def with_metadata(columns: Schema, metadata: Iterable[Any]) -> tuple[Schema, tuple[str, ...]]:
    """The columns of a record's value, and those about the record itself."""
    names = (metadata,) if isinstance(metadata, str) else tuple(metadata)
    known = [name for name in RECORD.names if name != "value"]
    for name in names:
        if name not in known:
            raise PlanError(
                "MS113",
                f"metadata has {name!r}, which records do not have",
                fix=did_you_mean(str(name), known),
            )
        if columns.find(name) is not None:
            raise PlanError(
                "MS113",
                f"the schema has a column {name!r}, and metadata asks for the record's own",
                fix=f"give the column another name, or leave {name!r} out of metadata",
            )
    fields = [field for field in RECORD if field.name in names]
    return columns.with_fields(fields), tuple(field.name for field in fields)
