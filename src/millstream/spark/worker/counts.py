"""What a partition counts for the job's progress: rows read, rejected, with odd event times."""

from __future__ import annotations

from collections.abc import Iterator

from millstream.spark.worker.envelopes import Envelope


class Counts:
    """How many rows of what kind each step has had, and an example for what a job warns of."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, str], int] = {}
        self._reasons: dict[str, str] = {}
        self._farthest: dict[str, tuple[int, str]] = {}
        self._units: dict[str, str] = {}

    def add(self, step: str, what: str, number: int) -> None:
        if number:
            self._numbers[step, what] = self._numbers.get((step, what), 0) + number

    def add_ahead(self, step: str, number: int, farthest: int, about: str) -> None:
        """Counts event times ahead of the clock.

        ``farthest`` is the last of them; ``about`` says where it is from, and what they cause.
        """
        self.add(step, "ahead", number)
        known = self._farthest.get(step, (farthest, about))
        self._farthest[step] = max(known, (farthest, about))

    def add_unit(self, step: str, number: int, about: str) -> None:
        """Counts event times that are likely to be of another unit; ``about`` says which."""
        self.add(step, "unit", number)
        self._units.setdefault(step, about)

    def example(self, step: str, reason: str) -> None:
        """Keeps the first reason of a step for which rows were rejected."""
        self._reasons.setdefault(step, reason)

    def envelopes(self, shard: int) -> Iterator[Envelope]:
        for (step, what), number in self._numbers.items():
            count = Envelope(shard, step, "count", split=what, value=number)
            if what == "ahead":
                count.start, about = self._farthest[step]
                count.payload = about.encode()
            elif what == "unit":
                count.payload = self._units[step].encode()
            elif what == "rejected" and step in self._reasons:
                count.payload = self._reasons[step].encode()
            yield count
