"""Places in the topics of Kafka, and what the values of records may be."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

RecordFormat = Literal["json", "csv", "text", "raw"]


@dataclass(frozen=True, slots=True)
class Position:
    """A place in each partition: its beginning, its end, the first record of an instant, or
    an offset for some partitions, by topic.
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
