"""Writes slices of batches to topics, each exactly once, by transactions.

A slice is written in one transaction, which also commits the number of its batch, as an offset of a
group that nobody reads by: the **marker**. Whoever writes the slice again, after a failure, finds
the marker and leaves it. The transactional id is that of the slice, so that one who opens it fences
off all who had it before: a process that was thought dead cannot write any more.
"""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import repeat

from confluent_kafka import Consumer, KafkaException, Producer, TopicPartition
from confluent_kafka import KafkaError as Failure

from millstream.kafka.admin.topics import add_partitions, create_topic
from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import cluster_topics
from millstream.kafka.client.partitioning import CLIENT_SETTINGS
from millstream.kafka.client.rights import Right, check_group_right, is_missing_right, missing_right
from millstream.model.errors import KafkaError

MARKERS = "millstream-markers"
"""The topic that markers are offsets of. It has a partition for each slice, and no records."""

PATIENCE = 120.0
"""Seconds for which brokers may be away before a job that writes to them fails."""

_SETTINGS = {
    **CLIENT_SETTINGS,
    "enable.idempotence": True,
    # All records of a slice come at once: what waits here holds up the commit.
    "linger.ms": 1,
    "queue.buffering.max.messages": 1_000_000,
    # How long a slice may take: brokers that are slow, or have a quota, take what they take. It is
    # not for ever, since what a dead writer left open holds up its readers until its successor
    # comes, or until then. Brokers allow a quarter of an hour.
    "transaction.timeout.ms": 300_000,
    # The first tries of a new client are to be quick: a worker may open one for each slice.
    "reconnect.backoff.ms": 10,
    "retry.backoff.ms": 20,
}
_MOST_AT_ONCE = 50_000
_FEWEST_MARKERS = 50
_MOST_SPARES = 4
_TRY = 30.0
_HOPELESS = {
    Failure.MSG_SIZE_TOO_LARGE,
    Failure.TOPIC_AUTHORIZATION_FAILED,
    Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED,
    Failure.GROUP_AUTHORIZATION_FAILED,
    Failure.CLUSTER_AUTHORIZATION_FAILED,
    Failure.INVALID_RECORD,
    Failure.INVALID_TRANSACTION_TIMEOUT,
    Failure._UNKNOWN_TOPIC,
    Failure._UNKNOWN_PARTITION,
}


Heard = Callable[[Failure | None, object], None]
"""Hears whether a record has arrived."""


@dataclass(frozen=True)
class Records:
    """Records of a topic, column by column; with ``hashes``, these choose the partitions."""

    values: Sequence[bytes | str | None]
    keys: Sequence[bytes | str | None] | None = None
    headers: Sequence[list[tuple[str, bytes | str | None]]] | None = None
    hashes: Sequence[int] | None = None

    def __len__(self) -> int:
        return len(self.values)

    def messages(self) -> list[dict[str, object]]:
        """Values and keys, as the client takes many at once."""
        if self.keys is None:
            return [{"value": value} for value in self.values]
        pairs = zip(self.values, self.keys, strict=True)
        return [{"value": value, "key": key} for value, key in pairs]


@dataclass(frozen=True)
class Place:
    """Where a slice is written: the topic, and by what ids it is known."""

    connection: Connection
    topic: str
    group: str
    number: int

    @property
    def id(self) -> str:
        """The transactional id."""
        return f"{self.group}-{self.number}"


@dataclass
class _Open:
    """A producer that owns a slice, and the marker as it left it."""

    place: Place
    producer: Producer
    marker: int


# Opening takes long: a worker keeps them from batch to batch.
_opened: dict[str, _Open] = {}
# Most of that is the connection, for which a slice need not be owned.
_spares: dict[str, Future[Producer]] = {}
# And the rest can be done while the rows of a slice are still made.
_expected: dict[str, Future[_Open]] = {}
_consumers: dict[tuple[str, str], Consumer] = {}
_simple: dict[tuple[str, ...], Producer] = {}


def expect(place: Place, batch: int) -> None:
    """Opens a slice in the background that is soon to be written, if a spare is there for it.

    Who had it before is fenced off then, and has nothing left to write: no batch begins before the
    one before it has ended.
    """
    mine = _opened.get(place.id)
    if place.id in _spares and (mine is None or mine.marker != batch):
        _expected[place.id] = _background().submit(_open, place)


def write_once(place: Place, batch: int, records: Sequence[Records]) -> bool:
    """Writes a slice of a batch, unless it is written already; whether it was this one."""
    patient_until = None  # from the first failure on: what is slow does not fail
    while True:
        try:
            if place.id in _expected:
                _expected.pop(place.id).result()
            mine = _opened.get(place.id)
            if mine is None or mine.marker != batch:
                # Spark may give the slice to any worker: another one has had it since.
                mine = _open(place)
            if is_written(place, batch, mine.marker):
                return False
            _transact(place, mine, batch, records)
            _get_spares(place.group, batch)
            return True
        except KafkaException as error:
            failure, now = error.args[0], time.monotonic()
            _forget(place)
            if patient_until is None:
                _check_group(place)  # a right that is missing looks like brokers that are away
            patient_until = patient_until or now + PATIENCE
            if failure.code() in _HOPELESS or now > patient_until:
                raise _not_written(place, failure) from error
            time.sleep(0.1)


def is_written(place: Place, batch: int, marker: int) -> bool:
    """Whether the marker tells that this slice of a batch was written before.

    Only the newest batch is ever done again. Whoever brings an older one knows nothing of what was
    written since, and its batch may have other rows than the one of that number had.
    """
    if marker > batch + 1:
        raise KafkaError(
            "MS351",
            f"batch {batch} was to be written to topic {place.topic!r}, which has batch "
            f"{marker - 1} of this job: another process has gone on with it, or an older "
            "checkpoint was put back",
            fix="let the job run in one process only; after an older checkpoint was put back, give "
            "it another name, and read from where the old one had come to",
        )
    return marker > batch


def write_some(connection: Connection, topic: str, records: Sequence[Records]) -> None:
    """Writes records at least once, without transactions."""
    known = (connection.servers, *map("=".join, sorted(connection.settings.items())))
    if known not in _simple:
        _simple[known] = connection.producer(_SETTINGS)
    producer = _simple[known]
    failures: list[Failure] = []

    def heard(failure: Failure | None, _: object) -> None:
        if failure is not None:
            failures.append(failure)

    place = Place(connection, topic, "", 0)
    try:
        for each in records:
            _produce(producer, topic, each, PATIENCE, heard)
        left = producer.flush(PATIENCE)
    except KafkaException as error:
        raise _not_written(place, error.args[0]) from error
    if failures or left:
        del _simple[known]
        raise _not_written(place, failures[0] if failures else Failure(Failure._TIMED_OUT))


def prepare_markers(connection: Connection, slices: int) -> None:
    """Makes the topic of the markers, or makes it large enough, and waits until it is there.

    Other jobs may do the same at the same time, and a broker may hear of it later than another.
    """
    patient_until = time.monotonic() + _TRY
    while True:
        there = cluster_topics(connection).get(MARKERS)
        if there is not None and len(there.partitions) >= slices:
            return
        try:
            if there is None:
                create_topic(connection, MARKERS, partitions=max(slices, _FEWEST_MARKERS))
            else:
                add_partitions(connection, MARKERS, slices)
        except KafkaError as error:
            if error.code == "MS328" or time.monotonic() > patient_until:
                raise
        time.sleep(0.1)


def _open(place: Place) -> _Open:
    """Fences off who had the slice before; only then its marker says what is written."""
    if place.number >= _FEWEST_MARKERS:  # how many tasks write a sink, nobody knows before
        prepare_markers(place.connection, place.number + 1)
    spare = _spares.pop(place.id, None)
    producer = _connected(place) if spare is None else spare.result()
    producer.init_transactions(_TRY)
    (found,) = _consumer(place).committed([TopicPartition(MARKERS, place.number)], timeout=_TRY)
    if found.error is not None:
        raise KafkaException(found.error)
    _opened[place.id] = _Open(place, producer, max(found.offset, 0))
    return _opened[place.id]


def _connected(place: Place) -> Producer:
    """A producer that may own a slice, but does not yet."""
    producer = place.connection.producer({**_SETTINGS, "transactional.id": place.id})
    # One that is not connected looks for its coordinator again only after half a second. The first
    # answer is that of an address, the second that of the broker which the client now knows there.
    for _ in range(2):
        producer.list_topics(place.topic, timeout=_TRY)
    return producer


def _get_spares(group: str, batch: int) -> None:
    """Connects, in the background, for slices that this worker had, and did not write this time.

    Where there are as many workers as slices, slices change places in about every second batch.
    """
    for mine in list(_opened.values()):
        place = mine.place
        if place.group == group and mine.marker <= batch and place.id not in _spares:
            if len(_spares) >= _MOST_SPARES:
                return
            _spares[place.id] = _background().submit(_connected, place)


@cache
def _background() -> ThreadPoolExecutor:
    return ThreadPoolExecutor(1, "millstream-kafka")


def _consumer(place: Place) -> Consumer:
    """The one that reads and names the markers of all slices."""
    known = (place.connection.servers, place.group)
    if known not in _consumers:
        settings = {"group.id": place.group, "enable.auto.commit": False}
        _consumers[known] = place.connection.consumer(settings)
    return _consumers[known]


def _transact(place: Place, mine: _Open, batch: int, records: Sequence[Records]) -> None:
    producer = mine.producer
    producer.begin_transaction()
    for each in records:
        _produce(producer, place.topic, each, _TRY)
    marker = TopicPartition(MARKERS, place.number, batch + 1)
    group = _consumer(place).consumer_group_metadata()
    producer.send_offsets_to_transaction([marker], group, _TRY)
    _commit(producer)
    mine.marker = batch + 1


def _commit(producer: Producer) -> None:
    """Commits, once all records are there: it goes on for as long as some more of them arrive.

    Who begins anew after some seconds never comes to the end of what takes longer than that.
    """
    while True:
        left = len(producer)
        try:
            producer.commit_transaction(_TRY)
            return
        except KafkaException as error:
            if not error.args[0].retriable() or len(producer) >= left:
                raise


def _forget(place: Place) -> None:
    """Lets go of a producer: the next one begins anew, and aborts what this one has begun."""
    mine = _opened.pop(place.id, None)
    if mine is not None:
        with suppress(KafkaException):
            mine.producer.purge()
    consumer = _consumers.pop((place.connection.servers, place.group), None)
    if consumer is not None:
        consumer.close()


def _produce(
    producer: Producer,
    topic: str,
    records: Records,
    patience: float,
    heard: Heard | None = None,
) -> None:
    if records.headers is None and records.hashes is None:
        messages = records.messages()
        for start in range(0, len(messages), _MOST_AT_ONCE):
            _all_together(producer, topic, messages[start : start + _MOST_AT_ONCE], heard)
        return
    # The client takes many at once only where it chooses partitions, and without headers.
    many = len(records)
    for value, key, headers, partition in zip(
        records.values,
        records.keys or repeat(None, many),
        records.headers or repeat(None, many),
        _partitions(producer, topic, records.hashes, patience)
        if records.hashes
        else repeat(-1, many),
        strict=True,
    ):
        while True:
            try:
                producer.produce(topic, value, key, partition, heard, headers=headers)
                break
            except BufferError:
                producer.poll(0.05)


def _partitions(
    producer: Producer, topic: str, hashes: Sequence[int], patience: float
) -> list[int]:
    """The partition for each hash, of those that the topic has now."""
    there = producer.list_topics(topic, timeout=patience).topics[topic]
    if there.error is not None:
        raise KafkaException(there.error)
    return [each % len(there.partitions) for each in hashes]


def _all_together(
    producer: Producer,
    topic: str,
    messages: list[dict[str, object]],
    heard: Heard | None,
) -> None:
    while messages:
        with suppress(BufferError):
            producer.produce_batch(topic, messages, on_delivery=heard)
        left = [message for message in messages if "_error" in message]
        for message in left:
            failure = message.pop("_error")
            if isinstance(failure, Failure) and failure.code() != Failure._QUEUE_FULL:
                raise KafkaException(failure)
        if left:
            producer.poll(0.05)
        messages = left


def _check_group(place: Place) -> None:
    try:
        check_group_right(place.connection, place.group, "write exactly once")
    except KafkaError as error:
        if error.code == "MS328":
            raise


def _needs(place: Place, failure: Failure) -> Right:
    """The right that is missing where a slice cannot be written."""
    match failure.code():
        case Failure.TRANSACTIONAL_ID_AUTHORIZATION_FAILED:
            return Right("Write", "transactional-id", place.id)
        case Failure.GROUP_AUTHORIZATION_FAILED:
            return Right("Read", "group", place.group)
        case Failure.CLUSTER_AUTHORIZATION_FAILED:
            return Right("IdempotentWrite", "cluster")
    if MARKERS in failure.str():
        return Right("Read", "topic", MARKERS)
    return Right("Write", "topic", place.topic)


def _not_written(place: Place, failure: Failure) -> KafkaError:
    if is_missing_right(failure):
        return missing_right(_needs(place, failure), f"write to topic {place.topic!r}")
    if failure.code() == Failure.MSG_SIZE_TOO_LARGE:
        fix = "allow longer records: options={'message.max.bytes': 10_000_000}, and in the topic: "
        fix += f"millstream topics alter {place.topic} --set max.message.bytes=10000000"
    elif failure.code() == Failure.INVALID_TRANSACTION_TIMEOUT:
        fix = "ask for no more time than the brokers allow: options={'transaction.timeout.ms': "
        fix += "60_000}, or let them allow more: transaction.max.timeout.ms"
    else:
        fix = "see that the brokers run, then run the job again: it goes on where it was"
    return KafkaError(
        "MS327",
        f"records could not be written to topic {place.topic!r} at {place.connection.servers}: "
        f"{failure.str()} ({failure.name()})",
        fix=fix,
    )
