"""Reads ranges of offsets, batch after batch; what was fetched ahead is kept for the next."""

from __future__ import annotations

import time
from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition
from confluent_kafka import KafkaError as Failure

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.last_records import reading_error
from millstream.model.errors import KafkaError

MOST_AHEAD = 50_000
"""How many records of a partition are kept that were consumed before they were asked for."""

# All numbers are for one consumer, and a worker has one for each source that it reads.
_SETTINGS = {
    "group.id": "millstream-ranges",  # the client requires one; it never joins
    "enable.auto.commit": False,
    "enable.auto.offset.store": False,
    "enable.partition.eof": True,
    "auto.offset.reset": "error",
    "isolation.level": "read_committed",
    # What is fetched ahead: at most this and one answer more.
    "queued.max.messages.kbytes": 32 * 1024,
    "queued.min.messages": 200_000,
    "fetch.max.bytes": 16 * 1024 * 1024,
    "max.partition.fetch.bytes": 4 * 1024 * 1024,
    # A client whose queue is full would pause for a second.
    "fetch.queue.backoff.ms": 10,
    # A partition that is added waits until the broker has answered the request under way.
    "fetch.wait.max.ms": 20,
}
_AT_ONCE = 10_000
_MOST = 50_000  # records that are handed on at once
_TICK = 0.01  # seconds; the client waits that long for the last records of a batch
_PATIENCE = 120.0  # seconds without anything from brokers: as Spark's own source
_ENDED = 10.0  # seconds at the end of a partition that ought to have more
_RETRIED = {
    Failure._ALL_BROKERS_DOWN,
    Failure._TRANSPORT,
    Failure._RESOLVE,
    Failure._TIMED_OUT,
    Failure._MAX_POLL_EXCEEDED,
    Failure.LEADER_NOT_AVAILABLE,
    Failure.NOT_LEADER_FOR_PARTITION,
    Failure.BROKER_NOT_AVAILABLE,
    Failure.REPLICA_NOT_AVAILABLE,
    Failure.OFFSET_NOT_AVAILABLE,
    Failure.GROUP_AUTHORIZATION_FAILED,
}
"""What the client recovers from by itself, and rights on a group, which it does not need."""
_GONE = {Failure.UNKNOWN_TOPIC_OR_PART, Failure._UNKNOWN_TOPIC, Failure._UNKNOWN_PARTITION}

Place = tuple[str, int]


@dataclass(frozen=True)
class Range:
    """The offsets of a partition from ``start`` to before ``end``; not each has a record."""

    topic: str
    partition: int
    start: int
    end: int

    @property
    def place(self) -> Place:
        return self.topic, self.partition

    @property
    def size(self) -> int:
        return self.end - self.start


@dataclass
class _Position:
    """How far the consumer is in a partition that is assigned to it.

    ``at`` is where the next range must begin to continue. ``ahead`` are the records from there on
    that were consumed already. ``end`` is where the partition ended when the consumer was there,
    which it reports only once.
    """

    at: int
    ahead: list[Message] = field(default_factory=list)
    end: int = 0


class RangeReader:
    """Reads ranges with one consumer, for as long as the process lives.

    A range that begins where the one before it ended continues with what the consumer has fetched
    meanwhile. Any other begins anew. Only one thread may use it, and one ``read`` at a time.
    """

    def __init__(self, connection: Connection) -> None:
        self._consumer: Consumer = connection.consumer(_SETTINGS)
        self._positions: dict[Place, _Position] = {}

    def read(
        self, ranges: Collection[Range], *, skip_lost: bool = False, in_turn: bool = False
    ) -> Iterator[tuple[Range, list[Message]]]:
        """The records of the ranges, some at a time, in each partition in its order.

        Ranges are of different partitions. With ``in_turn``, each ends before the next begins. With
        ``skip_lost``, records that Kafka no longer has are left out, and else that is MS350.
        """
        if skip_lost:
            self._forget()  # or it might read what is counted as lost
        self._assign(ranges)
        for turn in [[each] for each in ranges] if in_turn else [ranges]:
            # Another's turn may have been so long that its partition was given up.
            self._assign(turn, others=ranges)
            try:
                yield from _Turn(self._consumer, self._positions, turn, skip_lost).records()
            except BaseException:
                self._forget()  # where the consumer is, is not known
                raise

    def _assign(self, ranges: Iterable[Range], others: Collection[Range] = ()) -> None:
        """Assigns the partitions of the ranges, and only these and the others."""
        wanted = {each.place: each.start for each in ranges}
        kept = wanted.keys() | {each.place for each in others}
        stale = [
            place
            for place, position in self._positions.items()
            if place not in kept or wanted.get(place, position.at) != position.at
        ]
        for place in stale:
            del self._positions[place]
        if stale:
            self._consumer.incremental_unassign([TopicPartition(*place) for place in stale])
        new = [place for place in wanted if place not in self._positions]
        if new:
            at = [TopicPartition(*place, wanted[place]) for place in new]
            self._consumer.incremental_assign(at)
            self._positions |= {place: _Position(wanted[place]) for place in new}

    def close(self) -> None:
        """Lets go of the connection."""
        self._consumer.close()

    def _forget(self) -> None:
        self._positions.clear()
        self._consumer.unassign()


class _Turn:
    """Reads some ranges to their ends."""

    def __init__(
        self,
        consumer: Consumer,
        positions: dict[Place, _Position],
        ranges: Iterable[Range],
        skip_lost: bool,
    ) -> None:
        self._consumer = consumer
        self._positions = positions
        self._skip_lost = skip_lost
        self._left = {each.place: each for each in ranges if each.size > 0}
        self._next = {place: range.start for place, range in self._left.items()}
        self._topics = {topic for topic, _ in positions}
        self._heard = time.monotonic()
        self._ends: dict[Place, tuple[int, float]] = {}

    def records(self) -> Iterator[tuple[Range, list[Message]]]:
        found: dict[Range, list[Message]] = {}
        for place, range in list(self._left.items()):
            ahead, self._positions[place].ahead = self._positions[place].ahead, []
            if ahead:
                found[range] = self._within(range, ahead)
            if place in self._left and self._positions[place].end >= range.end:
                self._end(range)
        while self._left:
            for place, messages in self._consumed():
                if place in self._left:
                    range = self._left[place]
                    found.setdefault(range, []).extend(self._within(range, messages))
                elif place in self._positions:
                    self._keep(place, messages)
            for range in [each for each, some in found.items() if len(some) >= _MOST]:
                yield range, found.pop(range)
            self._check_progress()
        yield from ((range, some) for range, some in found.items() if some)

    def _consumed(self) -> Iterator[tuple[Place, list[Message]]]:
        """What the consumer has, without errors, by partition."""
        # The client waits until it has as many as it is asked for, or for a tick.
        missing = sum(range.end - self._next[place] for place, range in self._left.items())
        got = self._consumer.consume(min(missing, _AT_ONCE), _TICK)
        if not got:
            return
        self._heard = time.monotonic()
        failed = [each for each in got if each.error() is not None]
        if failed:
            got = [each for each in got if each.error() is None]
        yield from self._by_place(got)
        for each in failed:
            self._handle(_place(each), each)

    def _by_place(self, messages: list[Message]) -> Iterator[tuple[Place, list[Message]]]:
        """The messages by partition; most often all are of one, and each call counts."""
        numbers = {each.partition() for each in messages}
        if len(self._topics) == len(numbers) == 1:
            yield _place(messages[0]), messages
            return
        found: dict[Place, list[Message]] = {}
        for each in messages:
            found.setdefault(_place(each), []).append(each)
        yield from found.items()

    def _within(self, range: Range, messages: list[Message]) -> list[Message]:
        """Those of the messages that are in the range; later ones are kept."""
        last: Any = messages[-1].offset()
        self._next[range.place] = min(last + 1, range.end)
        if last < range.end - 1:
            return messages
        self._end(range)
        if last == range.end - 1:
            return messages
        inside = [each for each in messages if _offset(each) < range.end]
        self._keep(range.place, messages[len(inside) :])
        return inside

    def _end(self, range: Range) -> None:
        del self._left[range.place]
        self._positions[range.place].at = range.end

    def _keep(self, place: Place, messages: list[Message]) -> None:
        """Keeps records for the next range, unless these become too many."""
        position = self._positions[place]
        position.ahead += messages
        if len(position.ahead) > MOST_AHEAD:
            del self._positions[place]
            self._consumer.incremental_unassign([TopicPartition(*place)])

    def _handle(self, place: Place, message: Message) -> None:
        failure: Any = message.error()
        range = self._left.get(place)
        code = failure.code()
        if code == Failure._PARTITION_EOF:
            end: Any = message.offset()
            if place in self._positions:
                self._positions[place].end = end
            if range is not None and end >= range.end:
                self._end(range)
            elif range is not None:
                self._ends[place] = end, time.monotonic()
        elif code in _RETRIED:
            return
        elif range is None:
            self._positions.pop(place, None)  # whoever asks for it next gets the error
            self._consumer.incremental_unassign([TopicPartition(*place)])
        elif code in (Failure._AUTO_OFFSET_RESET, Failure.OFFSET_OUT_OF_RANGE):
            self._continue_after_loss(range)
        elif code in _GONE:
            raise topic_gone(range.topic)
        else:
            raise reading_error(failure, range.topic)

    def _continue_after_loss(self, range: Range) -> None:
        """Continues with the first record of the range that Kafka still has, if it may."""
        place = TopicPartition(*range.place)
        try:
            first, end = self._consumer.get_watermark_offsets(place, timeout=_ENDED)
        except KafkaException as error:
            raise reading_error(error.args[0], range.topic) from error
        if not self._skip_lost:
            raise lost_records(range, first, end)
        self._consumer.incremental_unassign([place])
        if range.start < first < range.end:
            self._consumer.incremental_assign([TopicPartition(*range.place, first)])
            self._next[range.place] = first
        else:  # none is left of the range
            del self._left[range.place], self._positions[range.place]

    def _check_progress(self) -> None:
        """Raises if a partition ends before its range, or if brokers have been silent for long."""
        now = time.monotonic()
        for place, (end, since) in self._ends.items():
            range = self._left.get(place)
            if range is not None and now - max(since, self._heard) > _ENDED:
                raise lost_records(range, range.start, end)
        if now - self._heard > _PATIENCE:
            topics = ", ".join(sorted({repr(topic) for topic, _ in self._left}))
            raise KafkaError(
                "MS320",
                f"no Kafka broker has sent records of {topics} for {_PATIENCE:g} s",
                fix="see that the brokers run, then run the job again: it continues where it was",
            )


def lost_records(range: Range, first: int, end: int) -> KafkaError:
    """MS350: records of a range are not there any more."""
    return KafkaError(
        "MS350",
        f"records were gone before they were read, by retention or with their topic: offsets "
        f"{range.start} to {range.end} of partition {range.partition} of {range.topic!r} were to "
        f"be read, and it has {first} to {end}",
        fix="keep records for longer than the job may be away, retention.ms; to continue without "
        "them, counted, write read_kafka(…, on_data_loss='continue')",
    )


def topic_gone(topic: str) -> KafkaError:
    """MS321: a topic was deleted."""
    return KafkaError(
        "MS321",
        f"topic {topic!r} is gone: it was deleted while the job ran",
        fix="create it again, and run the job again with read_kafka(…, on_data_loss='continue'): "
        "it reads the new topic from its beginning",
    )


def _place(message: Message) -> Any:
    return message.topic(), message.partition()


def _offset(message: Message) -> Any:
    return message.offset()


_MOST_READERS = 8
_readers: dict[tuple[str, str, tuple[tuple[str, str], ...]], RangeReader] = {}


def reader_of(connection: Connection, source: str) -> RangeReader:
    """This process's reader for a source: each keeps what it fetched ahead.

    Of many, the one that was not used for longest is closed.
    """
    settings = sorted((name, str(value)) for name, value in connection.settings.items())
    key = source, connection.servers, tuple(settings)
    reader = _readers.pop(key, None) or RangeReader(connection)
    _readers[key] = reader
    if len(_readers) > _MOST_READERS:
        _readers.pop(next(iter(_readers))).close()
    return reader
