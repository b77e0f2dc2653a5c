"""Records, and how they are written in lines: as text, in hex or base64, or as JSON."""

from __future__ import annotations

import base64
import binascii
import json
from dataclasses import dataclass
from typing import Any, Literal

from confluent_kafka import (
    TIMESTAMP_CREATE_TIME,
    TIMESTAMP_LOG_APPEND_TIME,
    TIMESTAMP_NOT_AVAILABLE,
    Message,
)

from millstream.kafka.client.positions import parse_timestamp
from millstream.model.errors import PlanError

Encoding = Literal["text", "hex", "base64"]
Headers = tuple[tuple[str, bytes | None], ...]
TimestampType = Literal["CreateTime", "LogAppendTime", "NoTimestampType"]

_TIMESTAMP_TYPES: dict[int, TimestampType] = {
    TIMESTAMP_NOT_AVAILABLE: "NoTimestampType",
    TIMESTAMP_CREATE_TIME: "CreateTime",
    TIMESTAMP_LOG_APPEND_TIME: "LogAppendTime",
}
_LAST_PARTITION = 2**31 - 1
_LATEST = 2**63 - 1


@dataclass(frozen=True)
class NewRecord:
    """A record to be written. None is no key or no value; an empty one differs from that.

    Without a timestamp (milliseconds since 1970-01-01 UTC) it gets the time of writing, without a
    partition the one that a partitioner chooses.
    """

    value: bytes | None
    key: bytes | None = None
    headers: Headers = ()
    timestamp: int | None = None
    partition: int | None = None


@dataclass(frozen=True)
class Record:
    """A record that was read."""

    topic: str
    partition: int
    offset: int
    timestamp: int | None
    timestamp_type: TimestampType
    headers: Headers
    key: bytes | None
    value: bytes | None

    @staticmethod
    def of(message: Message) -> Record:
        """The record of a message that is not an error."""
        kind, at = message.timestamp()
        # The types allow None everywhere, for errors; a record has all of these.
        topic: Any = message.topic()
        partition: Any = message.partition()
        offset: Any = message.offset()
        headers: Any = message.headers() or ()
        return Record(
            topic,
            partition,
            offset,
            None if kind == TIMESTAMP_NOT_AVAILABLE else at,
            _TIMESTAMP_TYPES[kind],
            tuple(headers),
            message.key(),
            message.value(),
        )


def encoded(data: bytes, encoding: Encoding) -> bytes:
    """Bytes as they are, or in digits that any terminal and file can show.

    >>> encoded(b"ok", "text"), encoded(b"ok", "hex"), encoded(b"ok", "base64")
    (b'ok', b'6f6b', b'b2s=')
    """
    if encoding == "hex":
        return binascii.hexlify(data)
    return base64.b64encode(data) if encoding == "base64" else data


def decoded(data: bytes, encoding: Encoding) -> bytes:
    """The bytes that were encoded; a ValueError if they are not in that encoding.

    >>> decoded(b"6f6b", "hex")
    b'ok'
    """
    if encoding == "hex":
        return binascii.unhexlify(data)
    return base64.b64decode(data, validate=True) if encoding == "base64" else data


def to_json(record: Record, encoding: Encoding = "text") -> str:
    """A record as one line of JSON, which ``from_json`` reads back.

    A record with bytes that are not text is written in base64, with a field that names it.

    >>> at = 1_782_907_200_000
    >>> print(to_json(Record("scores", 0, 7, at, "CreateTime", (), None, b"5")))
    {"topic":"scores","partition":0,"offset":7,"timestamp":1782907200000,\
"timestamp_type":"CreateTime","headers":[],"key":null,"value":"5"}
    """
    try:
        return _json(record, encoding)
    except UnicodeDecodeError:
        return _json(record, "base64")


def from_json(line: bytes) -> NewRecord:
    """A record in a line of JSON: an object with a value, and any of the other fields.

    A value or key that is an object, a list, a number or a boolean is written as JSON.

    >>> from_json(b'{"key": "ann", "value": {"points": 5}}')
    NewRecord(value=b'{"points":5}', key=b'ann', headers=(), timestamp=None, partition=None)
    """
    fields = json.loads(line)
    if not isinstance(fields, dict) or "value" not in fields:
        raise ValueError('it is not an object with a "value"')
    encoding = fields.get("encoding", "text")
    if encoding not in ("text", "hex", "base64"):
        raise ValueError(f"the encoding {encoding!r} is not text, hex or base64")
    headers = _pairs(fields.get("headers") or [])
    at, partition = fields.get("timestamp"), fields.get("partition")
    if partition is not None and not _is_whole(partition, 0, _LAST_PARTITION):
        raise ValueError(
            f"the partition {partition!r} is not a whole number from 0 to {_LAST_PARTITION}"
        )
    return NewRecord(
        _bytes(fields["value"], encoding),
        _bytes(fields.get("key"), encoding),
        tuple((name, _bytes(value, encoding)) for name, value in headers),
        None if at is None else record_timestamp(at),
        partition,
    )


def record_timestamp(at: Any) -> int:
    """The timestamp of a record to be written, from text or from milliseconds.

    >>> record_timestamp("1970-01-01T00:00:01Z"), record_timestamp(1000)
    (1000, 1000)
    """
    number = parse_timestamp(at) if isinstance(at, str) else at
    if _is_whole(number, 1, _LATEST):  # for the client, 0 is the time of writing
        return int(number)
    raise PlanError(
        "MS118",
        f"the timestamp {at!r} is not 1 to {_LATEST} whole milliseconds after 1970-01-01 UTC",
        fix="write a later time, or none for the time of writing",
    )


def header_name(name: str) -> str:
    """The name of a header; a ValueError if it cannot be one.

    >>> header_name("source")
    'source'
    """
    # The client crashes on half a character, and a null ends the name.
    if "\0" in name or name.encode(errors="ignore").decode() != name:
        raise ValueError(f"the name {name!r} of a header is not text")
    return name


def _json(record: Record, encoding: Encoding) -> str:
    def text(data: bytes | None) -> str | None:
        return None if data is None else encoded(data, encoding).decode()

    fields: dict[str, Any] = {
        "topic": record.topic,
        "partition": record.partition,
        "offset": record.offset,
        "timestamp": record.timestamp,
        "timestamp_type": record.timestamp_type,
        "headers": [[name, text(value)] for name, value in record.headers],
        "key": text(record.key),
        "value": text(record.value),
    }
    if encoding != "text":
        fields["encoding"] = encoding
    return json.dumps(fields, ensure_ascii=False, separators=(",", ":"))


def _pairs(headers: Any) -> list[tuple[str, Any]]:
    pairs = list(headers.items()) if isinstance(headers, dict) else headers
    if isinstance(pairs, list) and all(
        isinstance(pair, list | tuple) and len(pair) == 2 and isinstance(pair[0], str)
        for pair in pairs
    ):
        return [(header_name(name), value) for name, value in pairs]
    raise ValueError("the headers are neither an object nor a list of names and values")


def _is_whole(value: Any, first: int, last: int) -> bool:
    return type(value) is int and first <= value <= last


def _bytes(value: Any, encoding: Encoding) -> bytes | None:
    if value is None:
        return None
    if isinstance(value, str):
        return decoded(value.encode(), encoding)
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode()
