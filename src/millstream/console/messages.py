"""Messages of a topic for people: from an offset, a time or the end, with a filter."""

from __future__ import annotations

import base64
import time
from collections.abc import Callable, Mapping
from typing import Any

from confluent_kafka import KafkaError as Failure
from confluent_kafka import TopicPartition
from confluent_kafka.admin import OffsetSpec

from millstream.console.answers import bad_request
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.last_records import reading_error
from millstream.kafka.client.metadata import partitions_of
from millstream.kafka.client.positions import BEGINNING, END, clamped, offsets_at, parse_position
from millstream.kafka.client.records import Record

MOST_SHOWN = 200
"""Messages in one answer."""
MOST_SCANNED = 50_000
"""Messages that a filter looks at for one answer."""
PREVIEW = 16 << 10
"""Bytes of a value in a list; the rest is shown on request."""
BARS = 48
_PATIENCE = 4.0  # seconds
TOGETHER = 256
"""Partitions whose messages, and their volume, are shown together."""
_AT_ONCE = 500

Offsets = dict[TopicPartition, int]


def starts_at(
    connection: Connection, places: list[TopicPartition], position: str, count: int
) -> Offsets:
    """The offsets of a position: ``0:5,1:7`` names one for each partition.

    The end is at most ``count`` offsets of each partition before it.
    """
    first = offsets_at(connection.admin, places, BEGINNING)
    end = offsets_at(connection.admin, places, END)
    if ":" in position and position.replace(":", "").replace(",", "").isdecimal():
        asked = dict(each.split(":", 1) for each in position.split(",") if ":" in each)
        wanted = {p: int(asked.get(str(p.partition), end[p])) for p in places}
        return clamped(wanted, first, end)
    if position == "end":
        return clamped({p: end[p] - count for p in places}, first, end)
    return offsets_at(connection.admin, places, parse_position(position))


def read(
    connection: Connection, starts: Mapping[TopicPartition, int], count: int, wanted: Wanted
) -> tuple[list[Record], Offsets, int]:
    """Records from some offsets on that are wanted, where to continue, and how many were seen."""
    ends = offsets_at(connection.admin, starts, END)
    following: Offsets = dict(starts)
    left = {place for place, at in starts.items() if at < ends[place]}
    records: list[Record] = []
    seen, until = 0, time.monotonic() + _PATIENCE
    if not left:
        return records, following, seen
    consumer = connection.consumer(
        {
            "group.id": "millstream-console",
            "enable.auto.commit": False,
            "enable.auto.offset.store": False,
            "enable.partition.eof": True,
            "isolation.level": "read_uncommitted",
            "fetch.wait.max.ms": 50,
        }
    )
    try:
        consumer.assign([TopicPartition(p.topic, p.partition, starts[p]) for p in left])
        while left and len(records) < count and seen < MOST_SCANNED and time.monotonic() < until:
            most = min(_AT_ONCE, count - len(records)) if wanted is everything else _AT_ONCE
            for message in consumer.consume(most, 0.2):
                failure, place = message.error(), _place(message)
                if failure is not None:
                    if failure.code() != Failure._PARTITION_EOF:
                        raise reading_error(failure, place.topic)
                    left.discard(place)
                    continue
                record = Record.of(message)
                if place not in following or len(records) >= count:
                    continue
                seen += 1
                following[place] = record.offset + 1
                if record.offset + 1 >= ends[place]:
                    left.discard(place)
                if wanted(record):
                    records.append(record)
    finally:
        consumer.close()
    records.sort(key=lambda each: (each.timestamp or 0, each.partition, each.offset))
    return records, following, seen


Wanted = Callable[[Record], bool]


def everything(_record: Record) -> bool:
    """No filter."""
    return True


def containing(key: str, text: str) -> Wanted:
    """A filter by the key, as a whole, and by a text anywhere in the key, value or headers."""
    if not key and not text:
        return everything
    if max(len(key), len(text)) > 1_000:
        raise bad_request("the filter has more than 1,000 characters", "write a shorter one")
    exact, part = key.encode(), text.encode().lower()

    def wanted(record: Record) -> bool:
        if key and record.key != exact:
            return False
        parts = (record.key, record.value, *(value for _, value in record.headers))
        return not text or any(part in each.lower() for each in parts if each is not None)

    return wanted


def shown(record: Record, most: int = PREVIEW) -> dict[str, Any]:
    """A record as JSON: text where it is text, else base64; long values are cut."""
    value, encoding = _text(record.value, most)
    return {
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "key": _text(record.key, 1_000)[0],
        "value": value,
        "encoding": encoding,
        "size": None if record.value is None else len(record.value),
        "cut": record.value is not None and len(record.value) > most,
        "headers": [[name[:200], _text(each, 1_000)[0]] for name, each in record.headers[:50]],
    }


def volume(connection: Connection, topic: str) -> dict[str, Any]:
    """How many offsets were written in each part of the time of a topic, by their timestamps."""
    places = partitions_of(connection, topic)[:TOGETHER]
    first, end = (offsets_at(connection.admin, places, each) for each in (BEGINNING, END))
    filled = [place for place in places if first[place] < end[place]]
    if not filled:
        return {"bars": []}
    newest = connection.admin.list_offsets(dict.fromkeys(filled, OffsetSpec.max_timestamp()))
    last = max(each.result().timestamp for each in newest.values())
    some, _, _ = read(connection, {p: first[p] for p in filled[:16]}, len(filled[:16]), everything)
    since = min((each.timestamp or last for each in some), default=last)
    step = max(1, -(-(last + 1 - since) // BARS))
    edges = [since + number * step for number in range(BARS)]
    asked = [
        connection.admin.list_offsets(dict.fromkeys(filled, OffsetSpec.for_timestamp(max(0, at))))
        for at in edges[1:]
    ]
    totals = [sum(first[p] for p in filled)]
    for answers in asked:
        found = {place: future.result().offset for place, future in answers.items()}
        totals.append(sum(end[p] if at < 0 else at for p, at in found.items()))
    totals.append(sum(end[p] for p in filled))
    bars = [
        [at, max(0, after - before)]
        for at, before, after in zip(edges, totals, totals[1:], strict=False)
    ]
    return {"bars": bars, "step": step}


def _place(message: Any) -> TopicPartition:
    return TopicPartition(message.topic(), message.partition())


def _text(data: bytes | None, most: int) -> tuple[str | None, str]:
    if data is None:
        return None, "text"
    try:
        text = data.decode()
    except UnicodeDecodeError:
        return base64.b64encode(data[:most]).decode(), "base64"
    return text if len(text) <= most else text[:most], "text"
