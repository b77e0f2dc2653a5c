"""Which topics a job has positions in, by their ids: one that is created again is another topic.

Offsets say nothing about that. Once the new topic has as many records as the old one had, a job
that only compares offsets skips the first ones.
"""

from __future__ import annotations

import json
import logging
import time
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, replace

from confluent_kafka import KafkaException
from pyarrow import fs

from millstream.kafka.client.metadata import topic_ids
from millstream.model.errors import KafkaError, RunError
from millstream.spark.compat.offset_log import COMMITS, OFFSETS, entry_of, last_batch
from millstream.spark.sources.kafka import Topics, offsets_of, source_lines
from millstream.spark.sources.kafka_starts import forget_start
from millstream.system.folders import Folder

_FILE = "topics.json"
_LONG = 1.0  # seconds: a batch that takes longer is checked at its end, too

_log = logging.getLogger(__name__)


@dataclass(frozen=True)
class Recreated:
    """A topic whose name another topic has now."""

    topics: Topics
    name: str
    before: str
    now: str

    def error(self) -> KafkaError:
        """The error for a job that must not continue with its positions."""
        fix = "run the job again: it reads the new topic from its beginning"
        if self.topics.source.on_data_loss == "fail":
            fix = (
                "to read the new topic from its beginning, write read_kafka(…, "
                "on_data_loss='continue') and run the job again; to start over, give the job "
                "another name or checkpoint"
            )
        return KafkaError(
            "MS350",
            f"topic {self.name!r} was deleted and created again: the job's positions are in the "
            f"topic with id {self.before}, and the id is {self.now} now. Records of the old topic "
            "that were not read are gone",
            fix=fix,
            step=self.topics.source.name,
        )


class KnownTopics:
    """The ids of the topics that a job has positions in, in a file of its checkpoint.

    An id is replaced only after the positions are. So a topic that was created again is found as
    long as the job has positions in the old one, whoever was killed when.
    """

    def __init__(self, topics: Iterable[Topics], checkpoint: str) -> None:
        self._topics = [each for each in topics if not each.source.bounded]
        self._checkpoint = checkpoint
        self._known: dict[str, list[str]] | None = None

    def resume(self) -> dict[str, int]:
        """Compares the topics with those of the checkpoint, before the query starts.

        Where the job is to continue without what is gone, it forgets its positions in topics that
        were created again: Spark reads these from their beginning, like new ones. Returns how many
        records are known to be gone, by the name of the source.
        """
        if not self._topics:
            return {}
        self._known = None  # a server of Spark Connect may have written to the file since
        lost: dict[str, int] = {}
        now = self._now()
        changed = self._changed(now)
        for each in changed:
            if each.topics.source.on_data_loss == "fail":
                raise each.error()
        for each in changed:
            name = each.topics.source.name
            lost[name] = lost.get(name, 0) + self._forget_positions(each)
            _log.warning(
                "topic %r was deleted and created again; the job reads the new one from its "
                "beginning. How many records of the old one were not read is not known",
                each.name,
            )
        self._keep({topic for _, ids in now for topic in ids}, now)
        return lost

    def renew(self, error: BaseException) -> dict[str, int] | None:
        """After a query has ended with an error: what ``resume`` returns, if it cures the error.

        It does if a topic was created again, and the job is to continue with the new one.
        """
        if not isinstance(error, KafkaError) or error.code != "MS350":
            return None
        try:
            self._known = None
            return self.resume() if self._changed(self._now()) else None
        except KafkaError:
            return None

    @contextmanager
    def unchanged(self, batch: int) -> Iterator[None]:
        """While a batch is read: MS350 if a topic of it was created again before it is committed.

        The check at the beginning is one request, a millisecond or two. What changes during a short
        batch, the check of the next one finds.
        """
        if not self._topics:
            yield
            return
        self._check(batch)
        began = time.monotonic()
        yield
        if time.monotonic() - began > _LONG:
            self._check(batch)

    def _check(self, batch: int) -> None:
        try:
            now = [
                (topics, topic_ids(topics.connection, names))
                for topics, names in zip(self._topics, self._names(batch), strict=True)
            ]
        except (KafkaError, KafkaException) as error:  # the next check finds what this one does not
            _log.warning("whether topics were created again could not be checked: %s", error)
            return
        for each in self._changed(now):
            raise each.error()
        new = {topic for _, ids in now for topic in ids} - self._ids().keys()
        if new:
            self._keep(new, now)

    def _now(self) -> list[tuple[Topics, dict[str, str]]]:
        """The ids of the topics of each source, and of those that were added to a pattern."""
        known = list(self._ids())
        return [
            (topics, topic_ids(topics.connection, {*topics.partitions, *topics.fitting(known)}))
            for topics in self._topics
        ]

    def _names(self, batch: int) -> list[Collection[str]]:
        """The topics of each source in a batch; those that fit a pattern, Spark has noted."""
        if all(each.source.pattern is None for each in self._topics):
            return [each.source.topics for each in self._topics]
        noted = offsets_of(self._topics, entry_of(self._folder(), batch).offsets)
        return [
            each.source.topics or {topic for topic, _ in ends}
            for each, ends in zip(self._topics, noted, strict=True)
        ]

    def _changed(self, now: Iterable[tuple[Topics, Mapping[str, str]]]) -> list[Recreated]:
        known = self._ids()
        return [
            Recreated(topics, topic, known[topic][-1], id)
            for topics, ids in now
            for topic, id in ids.items()
            if topic in known and id not in known[topic]
        ]

    def _ids(self) -> dict[str, list[str]]:
        """The known ids of each topic: several where clusters have topics of the same name."""
        if self._known is None:
            place = self._folder()
            info = place.system.get_file_info(f"{place.root}/{_FILE}")
            try:
                there = info.type != fs.FileType.NotFound
                self._known = json.loads(place.read(_FILE)) if there else {}
            except ValueError as error:
                raise _damaged(f"{self._checkpoint}/{_FILE}", error) from error
        return self._known

    def _keep(self, names: Iterable[str], now: Iterable[tuple[Topics, Mapping[str, str]]]) -> None:
        known = dict(self._ids())
        for name in names:
            known[name] = sorted({ids[name] for _, ids in now if name in ids})
        if known != self._known:
            self._replace(".", _FILE, json.dumps(known, indent=2))
            self._known = known

    def _forget_positions(self, recreated: Recreated) -> int:
        """Takes a topic out of Spark's notes; how many of its records were read, but not committed.

        A batch that was begun and not committed is replayed without the topic: what it has read is
        not there any more.
        """
        place = self._folder()
        begun, committed = last_batch(place, OFFSETS), last_batch(place, COMMITS)
        if committed is None:
            forget_start(recreated.topics, recreated.name, self._checkpoint)
        if begun is None:
            return 0
        ends = []
        for batch in range(max(0, begun if begun == committed else begun - 1), begun + 1):
            entry = entry_of(place, batch)
            notes = list(entry.offsets)
            number = source_lines(self._topics, notes)[self._topics.index(recreated.topics)]
            if number is None:
                continue
            offsets = json.loads(notes[number])
            ends.append(offsets.pop(recreated.name, {}))
            notes[number] = json.dumps(offsets)
            self._replace(OFFSETS, str(batch), str(replace(entry, offsets=tuple(notes))))
        if len(ends) < 2:
            return 0
        return sum(max(0, end - ends[0].get(n, 0)) for n, end in ends[1].items())

    def _replace(self, below: str, name: str, text: str) -> None:
        """Writes a file under another name first: whoever is killed leaves no half of one."""
        place = self._folder()
        with place.create(f"{_FILE}.tmp") as stream:
            stream.write(text.encode())
        # Spark compares a file with its checksum where there is one.
        place.remove(f"{below}/.{name}.crc")
        place.move(f"{_FILE}.tmp", to=f"{below}/{name}")

    def _folder(self) -> Folder:
        return Folder.of("checkpoint", self._checkpoint)


def _damaged(file: str, error: ValueError) -> RunError:
    return RunError(
        "MS210",
        f"{file!r} cannot be read: {error}",
        fix="put the file back as it was; or delete it if none of the job's topics was deleted and "
        "created again since the job last ran",
    )
