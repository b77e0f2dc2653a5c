"""Lines of the job's log about event times that look wrong, and splits that hold the watermark."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime, timedelta

from pyspark.sql import Row

from millstream.model.amounts import counted, length_in_words
from millstream.reports.progress import AFTER_ALL, BEFORE_ALL, Split, moment
from millstream.spark.worker.envelopes import CALL

EVERY = 60.0
"""Seconds between two warnings about the same."""

_SLOW = 1_000_000
"""Microseconds that the callbacks for the rows of one key may take in a batch."""

_log = logging.getLogger("millstream.job")


@dataclass
class TimeWarnings:
    """Warns of what tasks have found in a batch, of each thing once a minute at most."""

    _warned: dict[tuple[str, ...], float] = field(default_factory=dict)
    _moved: dict[tuple[str, str], tuple[datetime | None, float]] = field(default_factory=dict)

    def of(self, rows: Iterable[Row], now: float) -> None:
        """Warns of what the tasks of a batch have counted."""
        ahead: dict[str, list[Row]] = defaultdict(list)
        reasons: dict[str, list[Row]] = defaultdict(list)
        slow: dict[str, list[Row]] = defaultdict(list)
        units: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.kind == "count" and row.split == "ahead":
                ahead[row.node].append(row)
            elif row.kind == "count" and row.split == "unit":
                units[row.node].append(row)
            elif row.kind == "count" and row.split == "rejected" and row.payload is not None:
                reasons[row.node].append(row)
            elif row.kind == "count" and row.split.startswith(CALL) and row.start > _SLOW:
                slow[row.node].append(row)
        for step, found in slow.items():
            if self.is_due("slow", step, now=now):
                _warn_of_slow(step, max(found, key=lambda row: row.start))
        for step, found in ahead.items():
            if self.is_due("ahead", step, now=now):
                _warn_of_ahead(step, found)
        for step, found in units.items():
            if self.is_due("unit", step, now=now):
                count = counted(sum(row.value for row in found), "row")
                about = bytes(found[0].payload).decode()
                _log.warning(
                    "%s in %r with times of another unit, it seems: %s", count, step, about
                )
        for step, found in reasons.items():
            if self.is_due("rejected", step, now=now):
                count = counted(sum(row.value for row in found), "row")
                _log.warning("%s rejected in %r: %s", count, step, bytes(found[0].payload).decode())

    def of_splits(self, splits: Sequence[Split], now: float) -> str | None:
        """Warns of a split that is silent while others are not, and holds the watermark; says so.

        ``splits`` begin with those that are farthest behind.
        """
        for each in splits:
            if self._moved.get((each.source, each.split), (None, 0.0))[0] != each.watermark:
                self._moved[each.source, each.split] = each.watermark, now
        awake = [each for each in splits if not each.idle and each.watermark != AFTER_ALL]
        if len(awake) < 2 or awake[0].watermark == awake[-1].watermark:
            return None
        holds = awake[0]
        silent = now - self._moved[holds.source, holds.split][1]
        if silent < EVERY:
            return None
        which = f"split {holds.split!r} of {holds.source!r}"
        begun = "" if holds.watermark != BEFORE_ALL else ", which has brought no event time yet"
        waiting = f"{which}, silent for {length_in_words(timedelta(seconds=silent))}{begun}"
        if self.is_due("waiting", holds.source, holds.split, now=now):
            _log.warning(
                "the watermark waits for %s. If a split may fall silent, let it step aside: write "
                "idle='5m', say, in the watermark policy",
                waiting,
            )
        return waiting

    def is_due(self, *what: str, now: float) -> bool:
        """Whether it is time to warn of something, which counts as done."""
        due = now - self._warned.get(what, now - EVERY) >= EVERY
        if due:
            self._warned[what] = now
        return due


def _warn_of_slow(step: str, found: Row) -> None:
    _log.warning(
        "%s in %r took %s for key %s: other keys of the shard wait meanwhile",
        found.split.removeprefix(CALL),
        step,
        length_in_words(timedelta(microseconds=found.start)),
        bytes(found.payload).decode(),
    )


def _warn_of_ahead(step: str, found: list[Row]) -> None:
    farthest = max(found, key=lambda row: row.start)
    _log.warning(
        "%s in %r with a time too far ahead of the clock: up to %s, from %s. If such times are "
        "right, write ahead='30d', say, in the watermark policy",
        counted(sum(row.value for row in found), "row"),
        step,
        moment(farthest.start),
        bytes(farthest.payload).decode(),
    )
