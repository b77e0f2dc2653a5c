"""What a reader of the topic ``totals`` has: each current total, and the one before it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime
from typing import NamedTuple

from confluent_kafka import Message

from millstream.kafka.client.connection import Connection
from millstream.kafka.client.metadata import partitions_of
from millstream.model.panes import Kind, Timing

Window = tuple[float, float]
_KEPT = 12  # windows


@dataclass(frozen=True)
class Total:
    """A pane of a team, as it is in the topic; times are seconds since 1970-01-01 UTC."""

    team: str
    window: Window
    total: int
    scores: int
    timing: Timing
    index: int
    first: bool
    last: bool
    kind: Kind
    at: float
    """When it was written."""

    @staticmethod
    def of(message: Message) -> Total:
        """The pane in a record: the header ``kind`` marks retractions."""
        row = json.loads(message.value())
        pane = row["pane"]
        return Total(
            team=row["team"],
            window=(_seconds(row["window"]["start"]), _seconds(row["window"]["end"])),
            total=row["total"],
            scores=row["scores"],
            timing=pane["timing"],
            index=pane["index"],
            first=pane["first"],
            last=pane["last"],
            kind=dict(message.headers() or ())["kind"].decode(),
            at=message.timestamp()[1] / 1000,
        )


class Firing(NamedTuple):
    """A total, and the one that it replaces."""

    total: Total
    taken_back: Total | None


class Scoreboard:
    """Reads the topic as it is written.

    ``counted`` are the scores in all current totals. ``windows`` has the newest windows, and of
    each the newest firing of each team.
    """

    def __init__(self, connection: Connection) -> None:
        self.counted = 0
        self.windows: dict[Window, dict[str, Firing]] = defaultdict(dict)
        self._consumer = connection.consumer(
            {
                "group.id": "demo",
                "isolation.level": "read_committed",  # without it, some could be read twice
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.assign(partitions_of(connection, "totals"))
        self._taken_back: dict[tuple[str, Window], Total] = {}

    def read(self, seconds: float) -> list[Firing]:
        """What arrives within so many seconds."""
        messages = self._consumer.consume(num_messages=1000, timeout=seconds)
        firings = []
        for total in [Total.of(message) for message in messages if message.error() is None]:
            name = total.team, total.window
            if total.kind == "-":
                self.counted -= total.scores
                self._taken_back[name] = total
            else:
                self.counted += total.scores
                firings.append(Firing(total, self._taken_back.pop(name, None)))
        for firing in firings:
            self.windows[firing.total.window][firing.total.team] = firing
        for window in sorted(self.windows)[:-_KEPT]:
            del self.windows[window]
        return firings

    def __enter__(self) -> Scoreboard:
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
