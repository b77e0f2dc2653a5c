"""How ``consume`` writes a record: as Kafka's own tool does, by a format, or as JSON."""

from __future__ import annotations

import os
from collections.abc import Callable, Collection
from dataclasses import dataclass, fields
from datetime import UTC, datetime, timedelta
from enum import StrEnum
from typing import Any

from millstream.kafka.client.records import Encoding, Record, encoded, to_json
from millstream.model.errors import PlanError, did_you_mean

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_SAMPLE = Record("topic", 0, 0, 0, "CreateTime", (), b"key", b"value")


class Shown(StrEnum):
    """What may be shown before the value, in this order."""

    TIMESTAMP = "timestamp"
    PARTITION = "partition"
    OFFSET = "offset"
    HEADERS = "headers"
    KEY = "key"


@dataclass(frozen=True)
class Parts:
    """How the bytes of a record are written, and the text for null."""

    encoding: Encoding = "text"
    null: str = "null"

    def part(self, data: bytes | None) -> bytes:
        """A key, a value or the value of a header; the bytes of text are not changed."""
        return os.fsencode(self.null) if data is None else encoded(data, self.encoding)

    def headers(self, record: Record) -> bytes:
        """The headers as Kafka's own tool writes them."""
        pairs = [name.encode() + b":" + self.part(value) for name, value in record.headers]
        return b",".join(pairs) or b"NO_HEADERS"


def as_json(parts: Parts) -> Callable[[Record], bytes]:
    """One JSON object a record."""
    return lambda record: to_json(record, parts.encoding).encode()


def as_kafka_does(parts: Parts, shown: Collection[Shown]) -> Callable[[Record], bytes]:
    """The value, and before it what else is shown, separated by tabs."""
    columns: dict[Shown, Callable[[Record], bytes]] = {
        Shown.TIMESTAMP: lambda record: _timestamp(record).encode(),
        Shown.PARTITION: lambda record: b"Partition:%d" % record.partition,
        Shown.OFFSET: lambda record: b"Offset:%d" % record.offset,
        Shown.HEADERS: parts.headers,
        Shown.KEY: lambda record: parts.part(record.key),
    }
    chosen = [column for name, column in columns.items() if name in shown]
    return lambda record: b"\t".join(
        [*(column(record) for column in chosen), parts.part(record.value)]
    )


def by_format(parts: Parts, text: str) -> Callable[[Record], bytes]:
    """A Python format, such as ``{key}: {value} at {timestamp:%H:%M}``.

    >>> write = by_format(Parts(), "{key} {value:>5} {timestamp:%H:%M}")
    >>> write(Record("scores", 0, 7, 60_000, "CreateTime", (), b"ann", b"5"))
    b'ann     5 00:01'
    """

    def write(record: Record) -> bytes:
        # Bytes that are not UTF-8 are kept by surrogateescape.
        values: dict[str, Any] = {
            "topic": record.topic,
            "partition": record.partition,
            "offset": record.offset,
            "timestamp": _time(record),
            "timestamp_type": record.timestamp_type,
            "headers": parts.headers(record).decode(errors="surrogateescape"),
            "key": parts.part(record.key).decode(errors="surrogateescape"),
            "value": parts.part(record.value).decode(errors="surrogateescape"),
        }
        try:
            return text.format(**values).encode(errors="surrogateescape")
        except KeyError as error:
            names = [field.name for field in fields(Record)]
            raise _unreadable(
                record, f"it has no field {error.args[0]!r}", did_you_mean(error.args[0], names)
            ) from error
        except (ValueError, IndexError, AttributeError, TypeError, OverflowError) as error:
            fix = "write fields as in '{key}: {value}'"
            raise _unreadable(record, str(error), fix) from error

    write(_SAMPLE)  # a format that fits no record fails at once
    return write


def _timestamp(record: Record) -> str:
    if record.timestamp is None:
        return "NO_TIMESTAMP"
    return f"{record.timestamp_type}:{record.timestamp}"


class _NoTime(str):
    """The text for a missing time, whatever the format of times."""

    def __format__(self, _spec: str) -> str:
        return str(self)


def _time(record: Record) -> datetime | _NoTime:
    if record.timestamp is None:
        return _NoTime("none")
    try:
        return _EPOCH + timedelta(milliseconds=record.timestamp)
    except OverflowError:  # Kafka has times after the year 9999
        return _NoTime(record.timestamp)


def _unreadable(record: Record, why: str, fix: str) -> PlanError:
    at = f" at offset {record.offset} of {record.topic}-{record.partition}"
    where = "" if record is _SAMPLE else at
    return PlanError("MS113", f"the format cannot be used{where}: {why}", fix=fix)
