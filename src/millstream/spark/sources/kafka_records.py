"""Records of Kafka as record batches of Arrow: one column for each thing that a program reads."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa
from confluent_kafka import Message

from millstream.kafka.client.ranges import Range
from millstream.plan.records import record_text

OFFSET_COLUMN = "__millstream_offset"
"""The column of a record's offset, whether or not the program reads it."""
REJECTED_COLUMN = "__millstream_refused"
"""The column that contains why a record did not parse, and in a new line the record."""

Column = str
"""What a column has: something of the record itself, or one of the following."""
SPLIT, PLACE, TEXT, REJECTED, PARSED = "split", "place", "text", "rejected", "parsed"
"""The split; the place among all rows; the value as text; why that is none; whether it is one."""


@dataclass(frozen=True)
class RecordColumns:
    """The columns of record batches: their names and types, and what each has of a record.

    ``source`` and ``split`` are names: of the source, and of the split that a partition is.
    """

    source: str
    columns: tuple[tuple[str, Column], ...]
    schema: pa.Schema

    def batch(self, range: Range, split: str, messages: Sequence[Message]) -> pa.RecordBatch:
        """Some records of a partition."""
        arrays = []
        texts: tuple[list[str | None], list[str | None]] | None = None
        for field, (_, column) in zip(self.schema, self.columns, strict=True):
            if column in (TEXT, REJECTED, PARSED):
                texts = _texts(range, messages) if texts is None else texts
                values, reasons = texts
                found: Any = {
                    TEXT: values,
                    REJECTED: reasons,
                    PARSED: [each is None for each in reasons],
                }[column]
                arrays.append(pa.array(found, field.type))
            elif column == SPLIT:
                value = int(split) if pa.types.is_integer(field.type) else split
                arrays.append(pa.repeat(pa.scalar(value, field.type), len(messages)))
            elif column == PLACE:
                arrays.append(_places(self.source, split, messages, field.type))
            elif column in _SAME:
                same = _SAME[column](range)
                arrays.append(pa.repeat(pa.scalar(same, field.type), len(messages)))
            else:
                of = _EACH[column]
                arrays.append(pa.array([of(each) for each in messages], field.type))
        return pa.RecordBatch.from_arrays(arrays, schema=self.schema)


_SAME: dict[str, Callable[[Range], Any]] = {
    "topic": lambda range: range.topic,
    "partition": lambda range: range.partition,
}

_EACH: dict[str, Callable[[Message], Any]] = {
    "value": lambda message: message.value(),
    "key": lambda message: message.key(),
    "offset": lambda message: message.offset(),
    "timestamp": lambda message: _micros(message),
    "headers": lambda message: _headers(message),
}


def _micros(message: Message) -> int | None:
    _, milliseconds = message.timestamp()
    return None if milliseconds < 0 else milliseconds * 1000


def _headers(message: Message) -> list[dict[str, Any]] | None:
    headers: Any = message.headers()
    return [{"key": key, "value": value} for key, value in headers] if headers else None


def _places(
    source: str, split: str, messages: Iterable[Message], kind: pa.DataType
) -> pa.StructArray:
    offsets = pa.array([message.offset() for message in messages], pa.int64())
    origins, splits = (pa.repeat(pa.scalar(each), len(offsets)) for each in (source, split))
    return pa.StructArray.from_arrays([origins, splits, offsets], fields=list(kind))


def _texts(range: Range, messages: Sequence[Message]) -> tuple[list[str | None], list[str | None]]:
    """The values as text, and for those that are none the reason and the record."""
    values: list[str | None] = []
    rejected: list[str | None] = []
    for message in messages:
        value: Any = message.value()
        text = as_text(value)
        bad = isinstance(text, bytes)
        values.append(None if isinstance(text, bytes) else text)
        record = record_text(described(range, message)) if bad else None
        rejected.append(f"the value is no UTF-8\n{record}" if bad else None)
    return values, rejected


def described(range: Range, message: Message) -> dict[str, Any]:
    """Where a record is, and what it contains."""
    micros = _micros(message)
    moment = None if micros is None else pa.scalar(micros, pa.timestamp("us", "UTC")).as_py()
    return {
        "topic": range.topic,
        "partition": range.partition,
        "offset": message.offset(),
        "timestamp": moment,
        "key": as_text(message.key()),
        "value": as_text(message.value()),
    }


def as_text(content: Any) -> str | bytes | None:
    """Bytes as text, if they are UTF-8."""
    try:
        return None if content is None else content.decode()
    except UnicodeDecodeError:
        return bytes(content)
