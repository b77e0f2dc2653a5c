"""What a reader of the topic ``totals`` knows: each total that stands, and the one before it."""

from __future__ import annotations

import json
from collections import defaultdict
from dataclasses import dataclass
from datetime import datetime

from confluent_kafka import Message

from millstream.kafka.connection import Connection
from millstream.kafka.topics import partitions_of
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
        """The pane in a record: what takes one back is told by the header ``kind``."""
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


class Scoreboard:
    """Reads the topic as it is written; ``windows`` has the newest windows, team by team.

    Of each there is the total that stands, and the total that it took the place of.
    """

    def __init__(self, connection: Connection) -> None:
        self.counted = 0
        self.windows: dict[Window, dict[str, tuple[Total, Total | None]]] = defaultdict(dict)
        self._consumer = connection.consumer(
            {
                "group.id": "demo",
                "isolation.level": "read_committed",  # without it, some would be seen twice
                "enable.auto.commit": False,
                "auto.offset.reset": "earliest",
            }
        )
        self._consumer.assign(partitions_of(connection, "totals"))
        self._taken_back: dict[tuple[str, Window], Total] = {}

    def read(self, seconds: float) -> list[Total]:
        """What comes within so many seconds."""
        messages = self._consumer.consume(num_messages=1000, timeout=seconds)
        totals = [Total.of(message) for message in messages if message.error() is None]
        for total in totals:
            self._take(total)
        for window in sorted(self.windows)[:-_KEPT]:
            del self.windows[window]
        return totals

    def __enter__(self) -> Scoreboard:
        return self

    def __exit__(self, *error: object) -> None:
        self._consumer.close()

    def _take(self, total: Total) -> None:
        name = total.team, total.window
        if total.kind == "-":
            self.counted -= total.scores
            self._taken_back[name] = total
        else:
            self.counted += total.scores
            self.windows[total.window][total.team] = total, self._taken_back.pop(name, None)


def _seconds(text: str) -> float:
    return datetime.fromisoformat(text).timestamp()
