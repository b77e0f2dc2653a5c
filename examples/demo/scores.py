"""A game that sends scores: out of order, some late, some far too late, a few malformed."""

from __future__ import annotations

import json
import threading
import time
from collections.abc import Callable
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from random import Random

from millstream.kafka.client.connection import Connection

TEAMS = {
    "foxes": ("ann", "bob", "cid", "dot"),
    "otters": ("eve", "flo", "gus", "hal"),
    "owls": ("ida", "jim", "kay", "leo"),
}
_PER_SECOND = 12
_PATIENCE = 30.0  # seconds until the broker must have the last ones


@dataclass(frozen=True)
class Score:
    """The points of a player, and when they were scored."""

    user: str
    team: str
    points: int
    at: datetime

    def record(self) -> str:
        """The score as JSON."""
        return json.dumps(asdict(self), default=datetime.isoformat)


def score(number: int, now: datetime) -> Score:
    """The score of that number, if it arrives now."""
    random = Random(number)
    team = random.choice(list(TEAMS))
    if number % 50 == 49:
        delay = random.uniform(45, 55)  # the telephone was off: its window has expired
    elif number % 30 == 29:
        delay = random.uniform(5, 12)  # a poor connection: its window has ended, most likely
    else:
        delay = random.uniform(0, 0.9)
    at = now - timedelta(seconds=delay)
    return Score(random.choice(TEAMS[team]), team, random.randint(1, 9), at)


class Game:
    """Sends scores from a thread, within the block. ``sent`` is called for each.

    ``produced`` are the records that the broker has acknowledged, malformed ones among them.
    """

    def __init__(self, connection: Connection, sent: Callable[[Score], None]) -> None:
        self.produced = 0
        self._producer = connection.producer({"enable.idempotence": True, "linger.ms": 5})
        self._sent = sent
        self._over = threading.Event()
        self._thread = threading.Thread(target=self._play, name="game")

    def __enter__(self) -> Game:
        self._thread.start()
        return self

    def __exit__(self, *error: object) -> None:
        self.end()

    def end(self) -> None:
        """Stops sending, and waits until the broker has everything."""
        self._over.set()
        self._thread.join()

    def _play(self) -> None:
        begun = time.time()
        number = 0
        while not self._over.wait(begun + number / _PER_SECOND - time.time()):
            made = score(number, datetime.now(UTC))
            text = made.record()
            if number % 40 == 39:
                text = text[:-20]  # the connection broke
            else:
                self._sent(made)
            self._producer.produce("scores", text, key=made.user, on_delivery=self._delivered)
            self._producer.poll(0)
            number += 1
        self._producer.flush(_PATIENCE)

    def _delivered(self, failure: object, _message: object) -> None:
        self.produced += failure is None
