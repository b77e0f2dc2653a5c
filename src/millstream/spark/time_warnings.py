"""Lines of the job's log about event times that are likely to be wrong."""

from __future__ import annotations

import logging
from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass, field

from pyspark.sql import Row

from millstream.progress import counted, moment

EVERY = 60.0
"""Seconds between two warnings about the same."""

_log = logging.getLogger("millstream.job")


@dataclass
class TimeWarnings:
    """Warns of what tasks have found in a batch, of each thing once a minute at most."""

    _warned: dict[tuple[str, ...], float] = field(default_factory=dict)

    def of(self, rows: Iterable[Row], now: float) -> None:
        """Warns of what the tasks of a batch have counted."""
        ahead: dict[str, list[Row]] = defaultdict(list)
        reasons: dict[str, list[Row]] = defaultdict(list)
        for row in rows:
            if row.kind == "count" and row.split == "ahead":
                ahead[row.node].append(row)
            elif row.kind == "count" and row.split == "rejected" and row.payload is not None:
                reasons[row.node].append(row)
        for step, found in ahead.items():
            if self.is_due("ahead", step, now=now):
                _warn_of_ahead(step, found)
        for step, found in reasons.items():
            if self.is_due("rejected", step, now=now):
                count = counted(sum(row.value for row in found), "row")
                _log.warning("%s rejected in %r: %s", count, step, bytes(found[0].payload).decode())

    def is_due(self, *what: str, now: float) -> bool:
        """Whether it is time to warn of something, which counts as done."""
        due = now - self._warned.get(what, now - EVERY) >= EVERY
        if due:
            self._warned[what] = now
        return due


def _warn_of_ahead(step: str, found: list[Row]) -> None:
    farthest = max(found, key=lambda row: row.start)
    _log.warning(
        "%s in %r with a time too far ahead of the clock, which does not move the watermark: up to "
        "%s, from %s. If such times are right, write ahead='30d', say, in the watermark policy",
        counted(sum(row.value for row in found), "row"),
        step,
        moment(farthest.start),
        bytes(farthest.payload).decode(),
    )
