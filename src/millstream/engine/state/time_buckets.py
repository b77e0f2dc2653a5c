"""Buckets of event time: rows are added to them as parts, and each is let go of as a whole.

So what a batch writes is what it adds, and what it reads are the buckets whose rows its own rows
may meet. Letting go of old rows costs what goes, not what stays.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Protocol

from millstream.engine.operator import (
    Advance,
    BucketName,
    Facts,
    Operator,
    Outputs,
    Timeline,
    least,
)
from millstream.engine.state.arrivals import Arrival, Opened, joined
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket
from millstream.engine.state.parts import Parts
from millstream.engine.state.store import OperatorState
from millstream.engine.tables import rows_of


class TimelineOperator(Operator, Timeline, Protocol):
    """An operator with such buckets."""


class TimeBuckets:
    """The buckets of such an operator in one shard."""

    def __init__(self, operator: TimelineOperator, state: OperatorState) -> None:
        self._operator = operator
        self._parts = Parts(operator, operator.bucket, state)

    def step(
        self, buckets: dict[BucketName, Bucket], arrivals: Iterable[Arrival], advance: Advance
    ) -> Outputs:
        """Runs the operator over what has arrived and what it reads; adds what it returns."""
        operator = self._operator
        ports: dict[str, list[Opened]] = {}
        for each in arrivals:
            ports.setdefault(each.port, []).append(Opened(unpacked(each.blob)))
        batches = {port: rows_of(joined(some, ())) for port, some in ports.items()}
        awake = [name for name, bucket in buckets.items() if bucket.happens(advance)]
        read = operator.reads(batches, buckets, awake)
        found: dict[str, list[Opened]] = {}
        for name in sorted(read):
            for part in self._parts.of(buckets[name]):
                known = *name, buckets[name].wakes
                found.setdefault(part.port, []).append(Opened(part.rows, known))
        columns = *operator.bucket, "wakes"
        tables = {table: rows_of(joined(some, columns)) for table, some in found.items()}
        stepped = operator.step(tables, batches, advance)
        for table, rows in stepped.tables.items():
            parts = rows.partition_by(operator.bucket, as_dict=True, include_key=False)
            for name, mine in parts.items():
                added = Arrival(packed(mine), mine.height, port=table)
                self._parts.put(buckets.setdefault(name, Bucket(name)), added, added.blob)
        for name in read | (stepped.facts.keys() & buckets.keys()):
            _note(buckets[name], stepped.facts.get(name, Facts()), name in read)
        for name in [name for name in buckets if operator.ends(name) <= advance.watermark]:
            self._parts.remove(buckets.pop(name))
        return stepped.outputs


def _note(bucket: Bucket, facts: Facts, all: bool) -> None:
    """Takes note of the facts of a bucket: of ``all`` its rows, or of some that were added."""
    if all:
        bucket.wakes, bucket.holds = facts.wakes, facts.holds
    else:
        bucket.wakes = min(bucket.wakes, facts.wakes)
        bucket.holds = least(bucket.holds, facts.holds)
