"""The last records of partitions: at which offset they begin.

Not every offset has a record. The end of a transaction takes an offset, and so do records that
were aborted, or that compaction has removed. Only a consumer that reads them finds out.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from confluent_kafka import Consumer, Message, TopicPartition
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.answers import request_error
from millstream.kafka.client.rights import Right
from millstream.model.errors import KafkaError

_TICK = 0.2  # seconds
_AT_ONCE = 1000

Offsets = dict[TopicPartition, int]


def last_records(
    consumer: Consumer,
    count: int,
    starts: Mapping[TopicPartition, int],
    ends: Mapping[TopicPartition, int],
    until: Callable[[], bool],
) -> Offsets:
    """The offset of the last record but ``count`` of each partition, or of the first there is.

    It reads back from the ends, further each time, until it has seen enough records. The consumer
    must report the ends of partitions; its assignment is replaced.
    """
    seen: dict[TopicPartition, list[int]] = {place: [] for place in ends}
    reached = dict(ends)
    back = count
    while not until():
        incomplete = [p for p in ends if len(seen[p]) < count and reached[p] > starts[p]]
        if not incomplete:
            break
        windows = {p: (max(starts[p], reached[p] - back), reached[p]) for p in incomplete}
        for place, offsets in _offsets(consumer, windows, until).items():
            seen[place] = offsets + seen[place]
            reached[place] = windows[place][0]
        back *= 2
    return {p: seen[p][-count] if 0 < count <= len(seen[p]) else reached[p] for p in ends}


def _offsets(
    consumer: Consumer,
    windows: Mapping[TopicPartition, tuple[int, int]],
    until: Callable[[], bool],
) -> dict[TopicPartition, list[int]]:
    """The offsets that have records, of those from the first of each window to before its last."""
    consumer.assign([TopicPartition(p.topic, p.partition, at) for p, (at, _) in windows.items()])
    found: dict[TopicPartition, list[int]] = {place: [] for place in windows}
    left = set(windows)
    while left and not until():
        for message in consumer.consume(_AT_ONCE, _TICK):
            place, offset = _place(message), message.offset()
            if place in left and (offset is None or offset >= windows[place][1] or message.error()):
                left.remove(place)
                consumer.pause([place])
            elif place in left and offset is not None:
                found[place].append(offset)
    consumer.resume(list(windows))  # else a later assignment would be paused too
    return found


def _place(message: Message) -> TopicPartition:
    failure = message.error()
    topic, partition = message.topic(), message.partition()
    if failure is not None and failure.code() != Failure._PARTITION_EOF:
        raise reading_error(failure, str(topic))
    assert topic is not None
    assert partition is not None
    return TopicPartition(topic, partition)


def reading_error(failure: Failure, topic: str, group: str | None = None) -> KafkaError:
    """The error for a topic that cannot be read, alone or as a member of a group."""
    needs = Right("Read", "topic", topic)
    if failure.code() == Failure.GROUP_AUTHORIZATION_FAILED and group is not None:
        needs = Right("Read", "group", group)
    return request_error(failure, f"read topic {topic!r}", needs)
