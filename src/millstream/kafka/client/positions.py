"""Positions in the partitions of a topic, as people write them, and their offsets."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Literal

from confluent_kafka import IsolationLevel, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec

from millstream.kafka.client.answers import answers
from millstream.kafka.client.rights import Right
from millstream.model.errors import PlanError
from millstream.model.instants import instant

_WORDS: dict[str, Literal["beginning", "end"]] = {
    "beginning": "beginning",
    "earliest": "beginning",
    "end": "end",
    "latest": "end",
}


@dataclass(frozen=True)
class Position:
    """A position in each of several partitions.

    ``number`` is an offset, how many offsets before the end, or milliseconds since 1970-01-01 UTC.
    """

    kind: Literal["beginning", "end", "offset", "last", "timestamp"]
    number: int = 0


BEGINNING = Position("beginning")
END = Position("end")


def parse_position(text: str) -> Position:
    """A position as people write it.

    >>> parse_position("beginning"), parse_position("42")
    (Position(kind='beginning', number=0), Position(kind='offset', number=42))
    >>> parse_position("-5"), parse_position("1970-01-01T01:00:01+01:00")
    (Position(kind='last', number=5), Position(kind='timestamp', number=1000))
    """
    if text in _WORDS:
        return Position(_WORDS[text])
    try:
        number = int(text)
    except ValueError:
        return Position("timestamp", parse_timestamp(text))
    return Position("last", -number) if "-" in text else Position("offset", number)


def parse_timestamp(text: str) -> int:
    """A point in time in milliseconds since 1970-01-01 UTC.

    >>> parse_timestamp("2026-07-01T12:00:00Z")
    1782907200000
    """
    try:
        return instant(text) // 1000
    except PlanError as error:
        raise PlanError(
            "MS118", error.what, fix="write a time with its zone, such as 2026-07-01T12:00:00+02:00"
        ) from None


def offsets_at(
    admin: AdminClient,
    partitions: Iterable[TopicPartition],
    position: Position,
    *,
    committed: bool = False,
) -> dict[TopicPartition, int]:
    """The offset of the position in each partition, within the offsets of the partition.

    With ``committed``, a partition ends where its first open transaction begins.
    """
    partitions = list(partitions)
    ends = _listed(admin, partitions, OffsetSpec.latest(), committed)
    if position.kind == "end":
        return ends
    if position.kind == "timestamp":
        since = max(
            0, position.number
        )  # negative numbers have a meaning for Kafka, such as -1 for the end
        found = _listed(admin, partitions, OffsetSpec.for_timestamp(since), committed)
        return {each: ends[each] if at < 0 else at for each, at in found.items()}
    starts = _listed(admin, partitions, OffsetSpec.earliest(), committed)
    if position.kind == "beginning":
        return starts
    requested = (
        dict.fromkeys(partitions, position.number)
        if position.kind == "offset"
        else {each: ends[each] - position.number for each in partitions}
    )
    return clamped(requested, starts, ends)


def clamped(
    requested: Mapping[TopicPartition, int],
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
) -> dict[TopicPartition, int]:
    """Offsets, each moved to the nearest one that its partition has."""
    return {each: max(starts[each], min(ends[each], at)) for each, at in requested.items()}


def _listed(
    admin: AdminClient, partitions: list[TopicPartition], spec: OffsetSpec, committed: bool
) -> dict[TopicPartition, int]:
    if not partitions:
        return {}
    level = IsolationLevel.READ_COMMITTED if committed else IsolationLevel.READ_UNCOMMITTED
    found = answers(
        lambda: admin.list_offsets(dict.fromkeys(partitions, spec), isolation_level=level),
        f"list the offsets of {partitions[0].topic!r}",
        Right("Describe", "topic", partitions[0].topic),
    )
    return {each: answer.offset for each, answer in found.items()}
