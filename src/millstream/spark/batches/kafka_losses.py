"""Counts the records that retention took before a job could read them."""

from __future__ import annotations

import logging
from collections.abc import Iterable

from confluent_kafka import TopicPartition

from millstream.kafka.client.positions import BEGINNING, offsets_at
from millstream.model.errors import KafkaError
from millstream.spark.compat.offset_log import entry_of
from millstream.spark.sources.kafka import Topics, offsets_of
from millstream.system.folders import Folder

_log = logging.getLogger(__name__)

Offsets = dict[tuple[str, int], int]


class Losses:
    """What is gone of the topics whose job continues without it.

    Before a batch begins, Spark notes in the checkpoint up to where it reads. Of these records, it
    leaves out those that are not there any more.
    """

    def __init__(self, topics: Iterable[Topics], checkpoint: str) -> None:
        self._topics = [each for each in topics if not each.source.bounded]
        self._checkpoint = checkpoint

    def of(self, batch: int) -> dict[str, int]:
        """How many records of the batch, which begins now, are gone, by the name of the source."""
        if all(each.source.on_data_loss == "fail" for each in self._topics):
            return {}
        gone: dict[str, int] = {}
        for topics, start, end in zip(
            self._topics, self._ends(batch - 1), self._ends(batch), strict=True
        ):
            if topics.source.on_data_loss == "continue" and (lost := _lost(topics, start, end)):
                gone[topics.source.name] = lost
        return gone

    def _ends(self, batch: int) -> list[Offsets]:
        """Where a batch ends in each of the sources, and so where the next one begins."""
        if batch < 0:  # what the job begins with; nothing is gone from words and instants on
            starts = [each.source.start.offsets for each in self._topics]
            return [{(topic, n): offset for topic, n, offset in each} for each in starts]
        entry = entry_of(Folder.of("checkpoint", self._checkpoint), batch)
        return offsets_of(self._topics, entry.offsets)


def _lost(topics: Topics, start: Offsets, end: Offsets) -> int:
    read = {place: at for place, at in start.items() if at < end.get(place, 0)}
    try:
        asked = [TopicPartition(*place) for place in read]
        firsts = offsets_at(topics.connection.admin, asked, BEGINNING)
    except KafkaError as error:
        _log.warning("what is gone of %r is not counted: %s", topics.source.name, error)
        return 0
    first = {(place.topic, place.partition): offset for place, offset in firsts.items()}
    return sum(max(0, min(first[place], end[place]) - at) for place, at in read.items())
