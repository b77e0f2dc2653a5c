"""Writes records to a topic, and tells which of them did not arrive."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, Message, Producer

from millstream.kafka.records import Encoding, NewRecord, decoded, from_json
from millstream.model.errors import KafkaError, PlanError
from millstream.progress import counted

_TICK = 0.2  # seconds
_TOLD = 10  # failures told one by one


@dataclass(frozen=True)
class Lines:
    """How lines are to be read.

    ``key_separator`` parts the key from the value, ``null`` is the text that stands for null.
    With ``json`` each line is a whole record, as ``consume --json`` writes it.
    """

    key_separator: bytes | None = None
    null: bytes | None = None
    encoding: Encoding = "text"
    json: bool = False

    def records(self, lines: Iterable[bytes]) -> Iterator[NewRecord]:
        r"""The record in each line, without its end.

        >>> list(Lines(key_separator=b":").records([b"ann:5\n", b"bob:7\r\n"]))[1]
        NewRecord(value=b'7', key=b'bob', headers=(), timestamp=None, partition=None)
        """
        for number, line in enumerate(lines, 1):
            text = line.removesuffix(b"\n").removesuffix(b"\r")
            try:
                yield from_json(text) if self.json else self._record(text)
            except ValueError as error:
                raise _unreadable(number, text, error) from error

    def _record(self, line: bytes) -> NewRecord:
        if self.key_separator is None:
            return NewRecord(self._part(line))
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            raise ValueError(f"it has no key separator {self.key_separator.decode()!r}")
        return NewRecord(self._part(value), self._part(key))

    def _part(self, data: bytes) -> bytes | None:
        return None if data == self.null else decoded(data, self.encoding)


class Deliveries:
    """How many records have arrived, and how many have not: the first of these are told."""

    def __init__(self, tell: Callable[[str], None]) -> None:
        self.arrived = 0
        self.failed = 0
        self._tell = tell

    def report(self, line: int, failure: Failure | None, _message: Message | None = None) -> None:
        """What became of the record in a line."""
        if failure is None:
            self.arrived += 1
            return
        self.failed += 1
        if self.failed <= _TOLD:
            self._tell(f"line {line} did not arrive: {failure.str()}")

    def check(self) -> None:
        """Raises if records did not arrive.

        >>> deliveries = Deliveries(print)
        >>> deliveries.report(1, None)
        >>> deliveries.check()
        """
        if self.failed:
            of = f"{self.failed:,} of {counted(self.failed + self.arrived, 'record')}"
            raise KafkaError(
                "MS327",
                f"{of} did not arrive",
                fix="see above why; produce those lines again once that is mended",
            )


def produce(
    producer: Producer,
    topic: str,
    records: Iterable[NewRecord],
    choose: Callable[[NewRecord], int],
    deliveries: Deliveries,
    *,
    rate: float | None = None,
    hurry: Callable[[], int] = lambda: 0,
) -> None:
    """Writes the records. However it ends, what was read by then is written.

    ``hurry`` tells how often it was asked to come to an end: once lifts the limit of the rate,
    twice gives up what has not arrived.
    """
    try:
        for line, record in enumerate(_paced(records, rate, producer, hurry), 1):
            try:
                _send(producer, topic, record, choose(record), partial(deliveries.report, line))
            except KafkaException as error:
                deliveries.report(line, error.args[0])
    finally:
        while producer.flush(_TICK) and hurry() < 2:
            pass


def _send(
    producer: Producer, topic: str, record: NewRecord, partition: int, told: Callable[..., None]
) -> None:
    while True:
        try:
            producer.produce(
                topic,
                record.value,
                record.key,
                partition=partition,
                on_delivery=told,
                timestamp=record.timestamp or 0,  # which to the client is the time of writing
                headers=list(record.headers),
            )
        except BufferError:
            producer.poll(0.1)  # the queue is full: wait until some have arrived
        else:
            producer.poll(0)
            return


def _paced(
    records: Iterable[NewRecord],
    rate: float | None,
    producer: Producer,
    hurry: Callable[[], int],
) -> Iterator[NewRecord]:
    begun = time.monotonic()
    for count, record in enumerate(records):
        due = begun if rate is None else begun + count / rate
        while (early := due - time.monotonic()) > 0 and not hurry():
            producer.poll(min(early, _TICK))
        yield record


def _unreadable(number: int, line: bytes, error: ValueError) -> KafkaError:
    why = error.what if isinstance(error, PlanError) else error
    shown = line[:60].decode(errors="replace") + ("…" if len(line) > 60 else "")
    return KafkaError(
        "MS326",
        f"line {number} cannot be read, {why}: {shown!r}",
        fix="mend the line; the lines before it are written",
    )
