"""The parts of buckets: batches that wait unread until the window of their bucket ends.

Parts are kept as in a log-structured merge tree: many of about one size become one, so that a row
is merged once for each step in size. A large part is cut into lanes, each with some of the keys.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence

import polars as pl

from millstream.engine.operator import BucketName, Deferral, Merging, least
from millstream.engine.state.arrivals import LANES, Arrival, Opened, cut, is_large, joined, lanes
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket, Lane, Part
from millstream.engine.state.store import OperatorState, part_name
from millstream.engine.tables import rows_of

MOST_PARTS = 16
"""How many parts of about one size a lane may have before they become one."""


class Parts:
    """The parts of an operator's buckets, in its state."""

    def __init__(self, merging: Merging, columns: Sequence[str], state: OperatorState) -> None:
        self._merging = merging
        self._columns = columns
        self._state = state

    def put(self, bucket: Bucket, arrival: Arrival, blob: bytes) -> None:
        """Puts a part into its lane, or parts into all lanes if it is a large one."""
        if arrival.lane is None and is_large(arrival.rows):
            for each in cut(unpacked(blob), self._merging.keys, port=arrival.port):
                self.put(bucket, each, each.blob)
            return
        lane = bucket.lane(arrival.port, arrival.lane)
        name = part_name(bucket.name, lane.port, lane.number, len(lane.parts))
        self._state.write(name, blob)
        lane.parts.append(Part(self._state.clocks.watermark, arrival.rows, len(blob)))
        self._merge(bucket, lane)

    def of(self, bucket: Bucket, *numbers: int | None) -> Iterator[Opened]:
        """The parts of a bucket; those of some lanes, if it says which."""
        for lane in bucket.lanes:
            if not numbers or lane.number in numbers:
                for number in range(len(lane.parts)):
                    yield self._opened(bucket.name, lane, number)

    def remove(self, bucket: Bucket) -> None:
        """Removes all parts of a bucket."""
        for lane in bucket.lanes:
            for number in range(len(lane.parts)):
                self._state.remove(part_name(bucket.name, lane.port, lane.number, number))
        bucket.lanes = []

    def _merge(self, bucket: Bucket, lane: Lane) -> None:
        """Makes one part of the last ones of a lane, where many are no larger than the very last.

        So the large parts, which hold most of the keys, are hardly ever read.
        """
        parts = lane.parts
        while parts:
            first = len(parts)
            while first and _tier(parts[first - 1].rows) <= _tier(parts[-1].rows):
                first -= 1
            # Lanes fill alike: so that they are not all merged in one batch, some may have more.
            if len(parts) - first < max(MOST_PARTS, 2) + (lane.number or 0):
                return
            table = self._merged(bucket.name, lane, first)
            for number in range(first, len(parts)):
                self._state.remove(part_name(bucket.name, lane.port, lane.number, number))
            arrived = parts[first].arrived
            del parts[first:]
            if lane.number is None and is_large(table.height):
                for each in cut(table, self._merging.keys, port=lane.port):
                    self.put(bucket, each, each.blob)
                continue
            blob = packed(table)
            self._state.write(part_name(bucket.name, lane.port, lane.number, first), blob)
            parts.append(Part(arrived, table.height, len(blob)))

    def _merged(self, name: BucketName, lane: Lane, first: int) -> pl.DataFrame:
        """The parts of a lane from one on, as one table that does not name the bucket."""
        opened = [self._opened(name, lane, number) for number in range(first, len(lane.parts))]
        combined = self._merging.combined([each.rows for each in opened])
        if combined is not None:
            return combined
        return rows_of(joined(opened, self._columns)).drop(self._columns)

    def _opened(self, name: BucketName, lane: Lane, number: int) -> Opened:
        rows = unpacked(self._state.read(part_name(name, lane.port, lane.number, number)))
        return Opened(rows, name, lane.parts[number].arrived, lane.port)


class DeferredParts(Parts):
    """Those that wait for the window of their bucket to end."""

    def __init__(self, deferral: Deferral, columns: Sequence[str], state: OperatorState) -> None:
        super().__init__(deferral, columns, state)
        self._deferral = deferral

    def add(self, bucket: Bucket, arrival: Arrival | Opened) -> None:
        """Lets an arrival wait beside its bucket."""
        deferral, watermark = self._deferral, self._state.clocks.watermark
        if isinstance(arrival, Opened):
            blob = packed(arrival.rows)
            arrival = Arrival(blob, arrival.height, bucket.name, port=arrival.port)
        bucket.wakes = min(bucket.wakes, deferral.until(bucket.name))
        holds = deferral.holds(bucket.name, arrival.blob, watermark)
        bucket.holds = least(bucket.holds, holds)
        self.put(bucket, arrival, deferral.trimmed(arrival.blob))

    def final(self, bucket: Bucket, arrived: list[Opened]) -> Iterator[pl.DataFrame]:
        """The rows that a bucket emits at its end, lane by lane; ``arrived`` is in no lane yet."""
        tables = joined([*arrived, *self.of(bucket, None)], self._columns)
        numbers = [lanes(table, self._deferral.keys) for table in tables]
        for lane in range(LANES):
            some = [t.filter(n == lane) for t, n in zip(tables, numbers, strict=True)]
            some += joined(self.of(bucket, lane), self._columns)
            if some:
                yield self._deferral.final(some)


def _tier(rows: int) -> int:
    """The size of a part: each step is sixteen times the one before."""
    return rows.bit_length() // 4
