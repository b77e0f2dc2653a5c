"""Writes records to a topic, and tells which of them did not arrive."""

from __future__ import annotations

import time
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import groupby

from confluent_kafka import KafkaError as Failure
from confluent_kafka import KafkaException, Message, Producer

from millstream.kafka.client.records import Encoding, NewRecord, decoded, from_json
from millstream.model.amounts import counted
from millstream.model.errors import KafkaError, PlanError

_TICK = 0.2  # seconds
_TOLD = 10  # failures told as they come


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
            except (ValueError, RecursionError) as error:
                raise _unreadable(number, text, error) from error

    def _record(self, line: bytes) -> NewRecord:
        if self.key_separator is None:
            return NewRecord(self._part(line))
        key, separator, value = line.partition(self.key_separator)
        if not separator:
            shown = self.key_separator.decode(errors="replace")
            raise ValueError(f"it has no key separator {shown!r}")
        return NewRecord(self._part(value), self._part(key))

    def _part(self, data: bytes) -> bytes | None:
        return None if data == self.null else decoded(data, self.encoding)


class Deliveries:
    """How many records have arrived, and which have not, and why.

    The first of these are told as they come: whoever reads along need not wait for the end.
    """

    def __init__(self, tell: Callable[[str], None] = lambda _: None) -> None:
        self.arrived = 0
        self.failed = 0
        self._lines: dict[str, list[int]] = defaultdict(list)
        self._tell = tell

    @property
    def failures(self) -> dict[str, list[tuple[int, int]]]:
        """Each reason, and the first and last of the lines in a row that it kept from arriving.

        >>> deliveries = Deliveries()
        >>> for line in (7, 2, 8, 9):
        ...     deliveries.report(line, Failure(Failure.MSG_SIZE_TOO_LARGE))
        >>> deliveries.failures
        {'Broker: Message size too large': [(2, 2), (7, 9)]}
        """
        return {reason: _runs(lines) for reason, lines in self._lines.items()}

    def report(self, line: int, failure: Failure | None, _message: Message | None = None) -> None:
        """What became of the record in a line."""
        if failure is None:
            self.arrived += 1
            return
        self.failed += 1
        self._lines[failure.str()].append(line)
        if self.failed <= _TOLD:
            self._tell(f"line {line} did not arrive: {failure.str()}")

    def check(self) -> None:
        """Raises if records did not arrive.

        >>> deliveries = Deliveries()
        >>> deliveries.report(1, None)
        >>> deliveries.check()
        """
        if self.failed:
            of = f"{self.failed:,} of {counted(self.failed + self.arrived, 'record')}"
            told = [_told(reason, lines) for reason, lines in self.failures.items()]
            raise KafkaError(
                "MS327",
                f"{of} did not arrive: {'; '.join(told)}",
                fix="produce these lines again once that is mended",
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
    twice gives up what has not arrived, which then counts as failed.
    """
    try:
        for line, record in enumerate(_paced(records, rate, producer, hurry), 1):
            try:
                told = partial(deliveries.report, line)
                _send(producer, topic, record, choose(record), told, hurry)
            except KafkaException as error:
                deliveries.report(line, error.args[0])
    finally:
        while producer.flush(_TICK):
            if hurry() >= 2:
                producer.purge()


def _send(
    producer: Producer,
    topic: str,
    record: NewRecord,
    partition: int,
    told: Callable[..., None],
    hurry: Callable[[], int],
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
            if hurry() >= 2:
                raise KafkaException(Failure(Failure._PURGE_QUEUE)) from None
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


def _runs(lines: Iterable[int]) -> list[tuple[int, int]]:
    # In a row, lines and their places grow alike.
    rows = groupby(enumerate(sorted(lines)), lambda each: each[1] - each[0])
    return [(row[0][1], row[-1][1]) for row in (list(row) for _, row in rows)]


def _told(reason: str, lines: list[tuple[int, int]]) -> str:
    named = ", ".join(f"{first}" if first == last else f"{first}-{last}" for first, last in lines)
    return f"{'line' if named.isdecimal() else 'lines'} {named} ({reason})"


def _unreadable(number: int, line: bytes, error: ValueError | RecursionError) -> KafkaError:
    why = error.what if isinstance(error, PlanError) else error
    shown = line[:60].decode(errors="replace") + ("…" if len(line) > 60 else "")
    return KafkaError(
        "MS326",
        f"line {number} cannot be read, {why}: {shown!r}",
        fix="mend the line; the lines before it are written",
    )
