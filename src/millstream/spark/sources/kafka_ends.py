"""How far there is something to read in the topics of a source, asked for before each batch."""

from __future__ import annotations

import math
import re
import time
from collections.abc import Mapping

from confluent_kafka import TopicPartition

from millstream.kafka.client.metadata import cluster_topics, topic_ids, topic_names
from millstream.kafka.client.positions import END, offsets_at
from millstream.kafka.client.ranges import Place, Range, lost_records, topic_gone
from millstream.kafka.delivery.markers import MARKERS
from millstream.model.errors import KafkaError
from millstream.spark.sources.kafka import Offsets, Topics

_PATIENCE = 120.0  # seconds that brokers may be away
_REFUSALS = 15.0  # seconds that they may refuse to answer
_PAUSE = 0.2
_METADATA = 1.0  # seconds after which new partitions and topics are looked for


class Ends:
    """The ends of all partitions of a source, with those that are added while it is read."""

    def __init__(self, topics: Topics) -> None:
        self._topics = topics
        self._places: list[TopicPartition] = []
        self._looked = -math.inf

    def after(self, start: Offsets) -> Offsets:
        """Where a batch that begins at ``start`` ends.

        It waits a while for brokers that are away: the job is not to fail while one is replaced.
        """
        deadline = time.monotonic() + _PATIENCE
        while True:
            try:
                return self._after(start)
            except KafkaError as error:
                if error.code not in ("MS320", "MS323") or time.monotonic() > deadline:
                    raise
                # The cluster has refused: a leader has changed, or a topic was created again.
                self._looked = -math.inf
                if error.code == "MS323":
                    deadline = min(deadline, time.monotonic() + _REFUSALS)
            time.sleep(_PAUSE)

    def _after(self, start: Offsets) -> Offsets:
        source = self._topics.source
        if time.monotonic() - self._looked > _METADATA:
            self._places = self._found(start)
            self._looked = time.monotonic()
        admin = self._topics.connection.admin
        found = offsets_at(admin, self._places, END, committed=True)
        ends = {(each.topic, each.partition): offset for each, offset in found.items()}
        if source.on_data_loss == "fail":
            self._check_none_cut_off(start, ends)
        return limited(start, ends, source.max_per_batch)

    def _check_none_cut_off(self, start: Offsets, ends: Offsets) -> None:
        """MS350 if a partition has fewer records than before.

        A topic that was created again has, too; the batch reports that, which knows it by its id.
        """
        short = {place: end for place, end in ends.items() if end < start.get(place, 0)}
        if not short:
            return
        ids = topic_ids(self._topics.connection, {topic for topic, _ in short})
        for (topic, number), end in short.items():
            if ids.get(topic) == self._topics.ids.get(topic):
                at = start[topic, number]
                raise lost_records(Range(topic, number, at, at), 0, end)

    def _found(self, start: Offsets) -> list[TopicPartition]:
        """All partitions that there are."""
        source = self._topics.source
        there = cluster_topics(self._topics.connection)
        if source.pattern is None:
            names = list(source.topics)
        else:
            own = there.keys() & set(topic_names(self._topics.connection)) - {MARKERS}
            names = [name for name in own if re.fullmatch(source.pattern, name)]
        gone = [name for name in source.topics if name not in there]
        if source.on_data_loss == "fail":
            gone += sorted({topic for topic, _ in start} - there.keys())
        if gone:
            raise topic_gone(gone[0])
        return [
            TopicPartition(name, number)
            for name in sorted(names)
            for number in sorted(there[name].partitions)
        ]


def limited(start: Mapping[Place, int], ends: Offsets, most: int | None) -> Offsets:
    """The ends of a batch with at most so many records, of each partition as its part of all.

    >>> limited({("t", 0): 0, ("t", 1): 10}, {("t", 0): 30, ("t", 1): 20}, 20)
    {('t', 0): 15, ('t', 1): 15}
    """
    sizes = {place: max(0, end - start.get(place, 0)) for place, end in ends.items()}
    total = sum(sizes.values())
    if most is None or total <= most:
        return ends
    shares = {p: min(size, _whole(most * size / total)) for p, size in sizes.items()}
    return {p: start.get(p, 0) + share if share else ends[p] for p, share in shares.items()}


def _whole(share: float) -> int:
    """A share of less than one record is one: or a partition might never be read."""
    return math.ceil(share) if share < 1 else math.floor(share)
