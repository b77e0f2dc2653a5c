"""Partitioning: which partition a new record is written to."""

from __future__ import annotations

import random
import struct
from collections.abc import Callable
from itertools import cycle
from typing import Literal

from millstream.kafka.client.records import NewRecord

Partitioner = Literal["java", "round-robin", "sticky"]

CLIENT_SETTINGS = {"partitioner": "murmur2_random"}
"""Settings that make a client choose as Java's does: by the same hash, in batches without a key."""
_CLIENT_CHOOSES = -1
_STICKY_BYTES = 16_384  # Java's batch.size


def java_hash(data: bytes | str | None) -> int:
    """The hash by which Java's producer chooses a partition for a key.

    >>> java_hash("21") , java_hash(b"foobar")
    (1173551340, 1357151166)
    """
    key = data.encode() if isinstance(data, str) else data or b""
    mask, m = 0xFFFFFFFF, 0x5BD1E995
    h = 0x9747B28C ^ len(key)
    whole = len(key) & ~3
    for (k,) in struct.iter_unpack("<I", key[:whole]):
        k = k * m & mask
        k = (k ^ k >> 24) * m & mask
        h = (h * m & mask) ^ k
    if whole < len(key):
        h = (h ^ int.from_bytes(key[whole:], "little")) * m & mask
    h = (h ^ h >> 13) * m & mask
    return (h ^ h >> 15) & 0x7FFFFFFF


def partitioner(name: Partitioner, partitions: int) -> Callable[[NewRecord], int]:
    """The function that chooses a partition for each record that does not name one.

    ``java`` leaves it to a client with ``CLIENT_SETTINGS``. The others ignore the key:
    ``round-robin`` takes the partitions in turn, ``sticky`` keeps one for as long as Java does.

    >>> choose = partitioner("round-robin", 3)
    >>> [choose(NewRecord(b"x")) for _ in range(4)], choose(NewRecord(b"x", partition=2))
    ([0, 1, 2, 0], 2)
    """
    choose = _CHOICES[name](partitions)
    return lambda record: choose(record) if record.partition is None else record.partition


def _by_key(_partitions: int) -> Callable[[NewRecord], int]:
    return lambda _record: _CLIENT_CHOOSES


def _in_turn(partitions: int) -> Callable[[NewRecord], int]:
    turns = cycle(range(partitions))
    return lambda _record: next(turns)


class _Sticky:
    """Keeps a partition for a number of bytes, then chooses another at random."""

    def __init__(self, partitions: int) -> None:
        self._partitions = partitions
        self._partition = random.randrange(partitions)
        self._bytes = 0

    def __call__(self, record: NewRecord) -> int:
        if self._bytes >= _STICKY_BYTES and self._partitions > 1:
            step = random.randrange(1, self._partitions)
            self._partition = (self._partition + step) % self._partitions
            self._bytes = 0
        self._bytes += len(record.key or b"") + len(record.value or b"")
        return self._partition


_CHOICES: dict[Partitioner, Callable[[int], Callable[[NewRecord], int]]] = {
    "java": _by_key,
    "round-robin": _in_turn,
    "sticky": _Sticky,
}
