"""The watermarks that the rows of a partition move."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.model.watermarks import Bounded, WatermarkPolicy
from millstream.spark.worker.envelopes import Envelope


@dataclass(frozen=True)
class Follow:
    """Event times of a step, and the watermark ``mark`` that follows them if an operator needs it.

    ``ahead`` is how far ahead of the clock a time may be to move it; None: as far as it likes.
    """

    step: str
    mark: str | None
    column: str
    policy: WatermarkPolicy
    ahead: int | None


class Marks:
    """The watermark of each split that the partition has rows of. It never moves back."""

    def __init__(self) -> None:
        self._watermarks: dict[tuple[str, str], int] = {}

    def move(self, follow: Follow, split: str, time: int | None) -> None:
        """Moves a split's watermark by its newest event time, if it has one."""
        if follow.mark is not None and time is not None:
            policy = follow.policy
            watermark = time - (policy.disorder if isinstance(policy, Bounded) else 0)
            known = self._watermarks.get((follow.mark, split), START_OF_TIME)
            self._watermarks[follow.mark, split] = max(known, watermark)

    def end(self, mark: str) -> None:
        """Moves all splits of a mark to the end of time: its source has ended."""
        for split in ["", *(split for known, split in self._watermarks if known == mark)]:
            self._watermarks[mark, split] = END_OF_TIME

    def envelopes(self, labels: Iterable[int]) -> Iterator[Envelope]:
        """The watermarks, for each of the shards."""
        for (mark, split), watermark in self._watermarks.items():
            for label in labels:
                yield Envelope(label, mark, "mark", split=split, value=watermark)
