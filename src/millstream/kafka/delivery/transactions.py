"""Delivery exactly once: the slices of batches, each written in one transaction.

A transaction also commits the slice's marker, the number of its batch (``markers.py``). Whoever
writes the slice again, after a failure, finds the marker and writes nothing. The transactional id
is that of the slice, so who opens it fences off all who had it before: a process that was believed
dead cannot write any more.
"""

from __future__ import annotations

import time
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from functools import cache

from confluent_kafka import Consumer, KafkaException, Producer

from millstream.kafka.client.rights import check_group_right
from millstream.kafka.delivery.failures import PATIENCE, PERMANENT, not_written
from millstream.kafka.delivery.kafka_slice import KafkaSlice
from millstream.kafka.delivery.markers import is_written
from millstream.kafka.delivery.open_slice import OpenSlice, connect, open_slice
from millstream.kafka.delivery.records import Records
from millstream.model.errors import KafkaError

_MOST_SPARES = 4


class Transactions:
    """The slices that a worker process writes in transactions.

    Opening a slice takes long, so open slices are kept from batch to batch. Most of that time is
    spent to connect, for which the slice need not be owned: **spares** are producers that are
    connected. The rest can be spent while the rows of the slice are still computed: **expected**
    slices are opened then.

    Invariant: a slice is written only through its open slice, and only while the marker of that is
    the number of the batch. An open slice whose transaction failed is dropped before the next
    attempt. So each batch of a slice is written once, whichever process Spark gives it to, and
    spares, expected and open slices may be stale at any time.

    Threads: one thread calls the methods, the one that runs the process's tasks, and only it
    touches the fields. The background thread runs ``connect``, ``open_slice`` and the closing of
    consumers, in the order in which they were submitted; it gets all that it needs as arguments.
    """

    def __init__(self) -> None:
        self._open: dict[str, OpenSlice] = {}  # this and the next two by transactional id
        self._spares: dict[str, Future[Producer]] = {}
        self._expected: dict[str, Future[OpenSlice]] = {}
        self._markers: dict[tuple[str, str], Consumer] = {}  # by servers and group
        self._background = ThreadPoolExecutor(1, "millstream-kafka")

    def expect(self, slice: KafkaSlice, batch: int) -> None:
        """Opens a slice in the background that is soon to be written, if a spare is there for it.

        Who had it before is fenced off then, and has nothing left to write: no batch begins before
        the previous one has ended.
        """
        id = slice.transactional_id
        mine = self._open.get(id)
        if id in self._spares and (mine is None or mine.marker != batch):
            self._expected[id] = self._background.submit(
                _open_spare, slice, self._spares.pop(id), self._markers_of(slice)
            )

    def write(self, slice: KafkaSlice, batch: int, records: Sequence[Records]) -> bool:
        """Writes a slice of a batch, unless it is written already; whether this call wrote it."""
        deadline = None  # from the first failure on: what is slow does not fail
        while True:
            try:
                return self._attempt(slice, batch, records)
            except KafkaException as error:
                failure, now = error.args[0], time.monotonic()
                self._drop(slice)
                if deadline is None:
                    _check_group(slice)  # a missing right looks like brokers that are away
                    deadline = now + PATIENCE
                if failure.code() in PERMANENT or now > deadline:
                    raise not_written(slice.connection, slice.topic, failure, slice) from error
                time.sleep(0.1)

    def _attempt(self, slice: KafkaSlice, batch: int, records: Sequence[Records]) -> bool:
        id = slice.transactional_id
        if id in self._expected:
            self._open[id] = self._expected.pop(id).result()
        if id not in self._open or self._open[id].marker != batch:
            # Spark may give the slice to any worker: another one has had it since.
            spare = self._spares.pop(id, None)
            producer = connect(slice) if spare is None else spare.result()
            self._open[id] = open_slice(slice, producer, self._markers_of(slice))
        mine = self._open[id]
        if is_written(slice.topic, batch, mine.marker):
            return False
        mine.write(batch, records, self._markers_of(slice))
        self._connect_spares(slice.group, batch)
        return True

    def _connect_spares(self, group: str, batch: int) -> None:
        """Connects, in the background, for slices that this process had and did not write now.

        With as many workers as slices, slices change places in about every second batch.
        """
        for id, mine in self._open.items():
            if mine.slice.group == group and mine.marker <= batch and id not in self._spares:
                if len(self._spares) >= _MOST_SPARES:
                    return
                self._spares[id] = self._background.submit(connect, mine.slice)

    def _markers_of(self, slice: KafkaSlice) -> Consumer:
        """The consumer that reads and names the markers of all slices of a group."""
        key = (slice.connection.servers, slice.group)
        if key not in self._markers:
            settings = {"group.id": slice.group, "enable.auto.commit": False}
            self._markers[key] = slice.connection.consumer(settings)
        return self._markers[key]

    def _drop(self, slice: KafkaSlice) -> None:
        """Drops an open slice: the next attempt opens it again, which aborts its transaction."""
        mine = self._open.pop(slice.transactional_id, None)
        if mine is not None:
            mine.discard()
        markers = self._markers.pop((slice.connection.servers, slice.group), None)
        if markers is not None:
            self._background.submit(markers.close)  # after what was submitted and uses it


@cache
def transactions() -> Transactions:
    """Those of this process."""
    return Transactions()


def _open_spare(slice: KafkaSlice, spare: Future[Producer], markers: Consumer) -> OpenSlice:
    return open_slice(slice, spare.result(), markers)


def _check_group(slice: KafkaSlice) -> None:
    try:
        check_group_right(slice.connection, slice.group, "write exactly once")
    except KafkaError as error:
        if error.code == "MS328":
            raise
