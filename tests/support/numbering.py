"""Numbered records for the job of numbered.py, and what must have come of them.

The expected values are plain counting over what brokers have acknowledged.
"""

from __future__ import annotations

import json
import random
import threading
import time
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from confluent_kafka import KafkaError, Message

from millstream.kafka.client.connection import Connection
from numbered import CHANGES, COPIES, COUNTS, NUMBERS, WINDOW
from topics import Read, read

PARTITIONS = 4
KEYS = 12
RATE = 200  # numbers in a second, of event time as of the clock
_THE_END = 86_400.0  # of event time, in seconds: a day later all windows have ended

Windows = dict[tuple[str, str], list[int]]
"""The numbers of each key and window, which its start names."""


class Numbers:
    """Produces numbers in a thread, and keeps those that were acknowledged, by key in order.

    A key is always in the same partition, so the order in which a key's numbers are produced is
    one that is to be kept. Times grow with the numbers: none is late.
    """

    def __init__(self, servers: str, seed: int) -> None:
        self._random = random.Random(seed)
        # Few requests: the brokers share this machine with the job.
        settings = {"acks": "all", "enable.idempotence": True, "linger.ms": 200}
        self._producer = Connection(servers).producer(settings)
        self._over = threading.Event()
        self._next = 0
        self._failures: list[KafkaError] = []
        self._offsets: dict[int, int] = {}
        self.acknowledged: dict[str, list[int]] = {_key(n): [] for n in range(KEYS)}
        self._thread = threading.Thread(target=self._run, daemon=True)
        self._thread.start()

    @property
    def total(self) -> int:
        """How many were acknowledged."""
        return sum(map(len, self.acknowledged.values()))

    def stop(self) -> None:
        """Produces no more."""
        self._over.set()
        self._thread.join()

    def end(self) -> dict[str, int]:
        """Ends all windows; where each partition ends, once all is acknowledged."""
        self.stop()
        for partition in range(PARTITIONS):
            self._produce(partition, _THE_END)
        assert self._producer.flush(120) == 0
        assert not self._failures, self._failures
        assert self.total == self._next
        return {str(partition): last + 1 for partition, last in self._offsets.items()}

    def windows(self) -> Windows:
        """What must be in each window; the last numbers are in one that has not ended."""
        expected: Windows = defaultdict(list)
        for key, numbers in self.acknowledged.items():
            for n in numbers:
                if n < self._next - PARTITIONS:
                    expected[key, _iso(n // (RATE * WINDOW) * WINDOW)].append(n)
        return expected

    def _run(self) -> None:
        began = time.monotonic()
        while not self._over.is_set():
            self._producer.poll(0.05)
            while self._next < (time.monotonic() - began) * RATE:
                self._produce(self._random.randrange(KEYS), self._next / RATE)

    def _produce(self, key: int, at: float) -> None:
        record = {"n": self._next, "key": _key(key), "at": at}
        self._next += 1

        def heard(failure: KafkaError | None, message: Message) -> None:
            if failure is not None:
                self._failures.append(failure)
                return
            self.acknowledged[record["key"]].append(record["n"])
            self._offsets[message.partition()] = message.offset()

        self._producer.produce(
            NUMBERS, json.dumps(record), record["key"], key % PARTITIONS, on_delivery=heard
        )


@dataclass(frozen=True)
class Found:
    """What readers of committed records have found, all of it as it must be."""

    numbers: int
    windows: int
    changes: int


def checked(servers: str, numbers: Numbers) -> Found:
    """Compares all that the job has written with what it must have written."""
    expected = numbers.windows()
    copies = read(servers, COPIES)
    assert _by_key((each.key, each.json["n"]) for each in copies) == numbers.acknowledged
    counts = read(servers, COUNTS)
    _check_counts(counts, expected)
    changes = read(servers, CHANGES)
    _check_changes(changes, expected)
    return Found(len(copies), len(counts), len(changes))


def _check_counts(records: list[Read], expected: Windows) -> None:
    """Each window is there once, with its numbers, and a key's windows are in order."""
    found = [(_place(each), each.json) for each in records]
    twice = len(found) - len({place for place, _ in found})
    assert not twice, f"{twice} panes are there twice"
    assert {place: row["numbers"] for place, row in found} == expected
    for place, row in found:
        assert (row["count"], row["total"]) == (len(expected[place]), sum(expected[place]))
    starts = _by_key(place for place, _ in found)
    assert all(each == sorted(each) for each in starts.values()), "a key's windows changed places"


def _check_changes(records: list[Read], expected: Windows) -> None:
    """Each record takes back the one before it, or is the next pane; what stands is expected."""
    standing: dict[tuple[str, str], dict[str, Any]] = {}
    panes: dict[tuple[str, str], int] = defaultdict(int)
    for each in records:
        place, row = _place(each), each.json
        if each.headers["kind"] == "-":
            assert standing.pop(place)["numbers"] == row["numbers"]
        else:
            assert place not in standing, "the pane before it was not taken back"
            assert row["pane"]["index"] == panes[place], "a pane is missing, or there twice"
            panes[place] += 1
            standing[place] = row
    assert {place: row["numbers"] for place, row in standing.items()} == expected


def _place(record: Read) -> tuple[str, str]:
    row = record.json
    assert record.key == row["key"]
    return row["key"], row["window"]["start"]


def _by_key(pairs: Iterable[tuple[Any, Any]]) -> dict[str, list[Any]]:
    found: dict[str, list[Any]] = defaultdict(list)
    for key, value in pairs:
        found[key].append(value)
    return found


def _key(number: int) -> str:
    return f"key {number}"


def _iso(seconds: int) -> str:
    moment = datetime.fromtimestamp(seconds, UTC)
    return moment.isoformat(timespec="milliseconds").replace("+00:00", "Z")
