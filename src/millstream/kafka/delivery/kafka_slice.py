"""A slice of a sink in Kafka: the topic to which it is written, and its ids there."""

from __future__ import annotations

from dataclasses import dataclass

from millstream.kafka.client.connection import Connection


@dataclass(frozen=True)
class KafkaSlice:
    """What one task writes to a topic in each batch.

    ``group`` is that of the sink's markers, and ``number`` the slice's partition of their topic.
    """

    connection: Connection
    topic: str
    group: str
    number: int

    @property
    def transactional_id(self) -> str:
        """The id of the slice's transactions: who opens it fences off all who had it before."""
        return f"{self.group}-{self.number}"
