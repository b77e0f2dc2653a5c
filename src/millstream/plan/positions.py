"""Where a program begins and ends in the topics of Kafka."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal


@dataclass(frozen=True, slots=True)
class Position:
    """A place in each partition of Kafka's topics: its beginning, its end, the first record of an
    instant, or an offset for some partitions, by topic.
    """

    at: Literal["earliest", "latest", "timestamp", "offsets"]
    milliseconds: int | None = None
    offsets: tuple[tuple[str, int, int], ...] = ()

    def __str__(self) -> str:
        if self.at == "offsets":
            return "offsets " + ", ".join(f"{t}-{p}: {o}" for t, p, o in self.offsets)
        if self.milliseconds is not None:
            return datetime.fromtimestamp(self.milliseconds / 1000, UTC).isoformat()
        return self.at
