"""A shard of an operator's keys: its state is in buckets, and a batch touches few of them.

For each bucket the shard knows when something will happen in it: at which watermark, at which clock
time. Only buckets that rows arrived for, or in which something happens, are read and written. Where
rows change nothing before a window's end, not even those: rows wait beside their bucket as parts.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence

import polars as pl

from millstream.engine.operator import (
    ROWS,
    Advance,
    BucketName,
    Facts,
    Operator,
    Outputs,
    PagedTables,
    Stepped,
    Timeline,
)
from millstream.engine.state.arrivals import Arrival, Opened, is_large, joined, opened
from millstream.engine.state.blobs import packed, unpacked
from millstream.engine.state.document import Bucket
from millstream.engine.state.pages import StoredPages
from millstream.engine.state.parts import DeferredParts
from millstream.engine.state.store import OperatorState, table_name
from millstream.engine.state.stretches import Stretches
from millstream.engine.state.time_buckets import TimeBuckets
from millstream.engine.tables import rows_of
from millstream.engine.watermarks import limited

Arrived = dict[BucketName, list[Arrival | Opened]]
"""What came in a batch, by bucket."""


class Shard:
    """One operator for some of its keys. All of its state is in ``state``."""

    def __init__(self, operator: Operator, state: OperatorState) -> None:
        self.operator = operator
        self.clocks = state.clocks
        self._state = state
        self._buckets = {bucket.name: bucket for bucket in state.clocks.buckets}
        self._pages = StoredPages(state)
        deferral = operator.deferral
        self._parts = None if deferral is None else DeferredParts(deferral, operator.bucket, state)
        sharing = None if deferral is None else deferral.sharing
        self._stretches = None if sharing is None else Stretches(sharing, state)
        self._times = TimeBuckets(operator, state) if isinstance(operator, Timeline) else None

    def step(self, arrivals: Sequence[Arrival], watermark: int, now: int) -> Outputs:
        """What a batch, a watermark and a clock emit; the state has what is left."""
        clocks, outputs = self.clocks, Outputs(list)
        advance = Advance(
            clocks.watermark, max(watermark, clocks.watermark), clocks.now, max(now, clocks.now)
        )
        if self._times is not None:
            outputs = self._times.step(self._buckets, arrivals, advance)
            return self._reached(advance, outputs)
        if self._stretches is None:
            arrived = self._by_bucket(arrivals)
        else:
            arrived = self._unshared(self._stretches, arrivals, advance, outputs)
        awake = {name for name, bucket in self._buckets.items() if bucket.happens(advance)}
        for name in [name for name in arrived if name not in awake]:
            if self._can_wait(name, advance):
                self._wait(name, arrived.pop(name))
        touched = sorted(awake | arrived.keys(), key=_order)
        ending = [name for name in touched if self._is_final(name, advance)]
        for names in self._together(ending, arrived):
            outputs[ROWS] += self._final(names, arrived)
        for names in self._together([n for n in touched if n not in ending], arrived):
            stepped = self._stepped(names, arrived, advance)
            for tag, tables in stepped.outputs.items():
                outputs[tag] += tables
            self._write(names, stepped)
        return self._reached(advance, outputs)

    def _reached(self, advance: Advance, outputs: Outputs) -> Outputs:
        clocks = self.clocks
        clocks.watermark, clocks.now = advance.watermark, advance.now
        clocks.buckets = [self._buckets[name] for name in sorted(self._buckets, key=_order)]
        holds = [bucket.holds for bucket in clocks.all_buckets if bucket.holds is not None]
        clocks.output_watermark = max(clocks.output_watermark, min([advance.watermark, *holds]))
        return outputs

    def put_back(self, limit: int) -> None:
        """Takes its watermarks back to ``limit``; windows that have ended do not come back."""
        clocks = self.clocks
        clocks.watermark = limited(clocks.watermark, limit)
        clocks.output_watermark = limited(clocks.output_watermark, limit)

    @property
    def next_due(self) -> int | None:
        """When something may happen next by the clock alone."""
        moments = [bucket.due for bucket in self._buckets.values() if bucket.due is not None]
        return min(moments, default=None)

    def _by_bucket(self, arrivals: Iterable[Arrival]) -> Arrived:
        arrived: Arrived = defaultdict(list)
        for arrival in arrivals:
            if arrival.bucket is not None:
                arrived[arrival.bucket].append(arrival)
                continue
            # Rows that may wait do not name their bucket; of others, the operator is given all.
            waits = self._parts is not None
            for name, rows in self._split(unpacked(arrival.blob), not waits).items():
                arrived[name].append(Opened(rows, name if waits else None, port=arrival.port))
        return arrived

    # Rows that buckets share.

    def _unshared(
        self,
        stretches: Stretches,
        arrivals: Iterable[Arrival],
        advance: Advance,
        outputs: Outputs,
    ) -> Arrived:
        """What comes to single buckets: rows that are late, and what those that wake have shared.

        Where such buckets only emit that, they do so here.
        """
        arrived: Arrived = defaultdict(list)
        for arrival in arrivals:
            self._give(arrived, stretches.add(arrival), arrival.port)
        for rows in stretches.give(advance.watermark):
            names = rows.select(self.operator.bucket).unique().rows()
            if all(n not in self._buckets and self._is_final(n, advance) for n in names):
                assert self.operator.deferral is not None
                outputs[ROWS].append(self.operator.deferral.emitted(rows))
            else:
                self._give(arrived, rows, ROWS)
        return arrived

    def _give(self, arrived: Arrived, rows: pl.DataFrame, port: str) -> None:
        for name, mine in self._split(rows, named=False).items():
            arrived[name].append(Opened(mine, name, port=port))

    # Rows that wait.

    def _can_wait(self, name: BucketName, advance: Advance) -> bool:
        deferral = self.operator.deferral
        return deferral is not None and deferral.until(name) > advance.watermark

    def _wait(self, name: BucketName, arrivals: list[Arrival | Opened]) -> None:
        assert self._parts is not None
        bucket = self._buckets.setdefault(name, Bucket(name))
        for arrival in arrivals:
            self._parts.add(bucket, arrival)

    def _is_final(self, name: BucketName, advance: Advance) -> bool:
        """Whether all that a bucket will ever do is to emit its rows, now."""
        deferral, bucket = self.operator.deferral, self._buckets.get(name)
        if deferral is None or (bucket is not None and bucket.tables):
            return False
        return deferral.is_final(name, advance)

    def _final(self, names: list[BucketName], arrived: Arrived) -> Iterator[pl.DataFrame]:
        """The rows of buckets that end: of many small ones together, of a large one by lanes."""
        deferral, parts = self.operator.deferral, self._parts
        assert deferral is not None
        assert parts is not None
        some: list[Opened] = []
        for name in names:
            bucket = self._buckets.pop(name, Bucket(name))
            mine = [opened(each) for each in arrived.get(name, [])]
            if any(lane.number is not None for lane in bucket.lanes):
                yield from parts.final(bucket, mine)
            else:
                some += [*mine, *parts.of(bucket)]
            parts.remove(bucket)
        if some:
            yield deferral.final(joined(some, self.operator.bucket))

    # Buckets that are read.

    def _together(self, names: list[BucketName], arrived: Arrived) -> Iterator[list[BucketName]]:
        """The buckets that the operator runs over at a time: many small ones, or a large one."""
        some: list[BucketName] = []
        rows = 0
        for name in names:
            mine = sum(
                each.rows if isinstance(each, Arrival) else each.height
                for each in arrived.get(name, ())
            )
            mine += self._buckets[name].all_rows if name in self._buckets else 0
            if some and is_large(rows + mine):
                yield some
                some, rows = [], 0
            some.append(name)
            rows += mine
        if some:
            yield some

    def _stepped(self, names: list[BucketName], arrived: Arrived, advance: Advance) -> Stepped:
        """Reads the buckets, and runs the operator over them."""
        found: dict[str, list[pl.DataFrame]] = defaultdict(list)
        ports: dict[str, list[Opened]] = defaultdict(list)
        for name in names:
            bucket = self._buckets.get(name, Bucket(name))
            for table in bucket.tables:
                found[table].append(unpacked(self._state.read(table_name(name, table))))
            mine = [opened(each) for each in arrived.get(name, [])]
            mine += [] if self._parts is None else self._parts.of(bucket)
            for each in mine:
                ports[each.port].append(each)
        tables = {table: rows_of(some) for table, some in found.items()}
        columns = self.operator.bucket
        batches = {port: rows_of(joined(some, columns)) for port, some in ports.items()}
        return self.operator.step(PagedTables(tables, self._pages), batches, advance)

    def _write(self, names: list[BucketName], stepped: Stepped) -> None:
        grown = self._pages.write(stepped.pages)
        tables = {table: self._split(rows) for table, rows in stepped.tables.items()}
        for name in names:
            old = self._buckets.pop(name, Bucket(name))
            if self._parts is not None:
                self._parts.remove(old)
            held = {table: parts[name] for table, parts in tables.items() if name in parts}
            for table in set(old.tables) - held.keys():
                self._state.remove(table_name(name, table))
            if held:
                blobs = {table: packed(rows) for table, rows in held.items()}
                for table, blob in blobs.items():
                    self._state.write(table_name(name, table), blob)
                self._buckets[name] = Bucket(
                    name,
                    tables=sorted(blobs),
                    rows=sum(rows.height for rows in held.values()),
                    size=sum(map(len, blobs.values())),
                    paged=old.paged + grown.get(name, 0),
                    **stepped.facts.get(name, Facts())._asdict(),
                )

    def _split(self, table: pl.DataFrame, named: bool = True) -> dict[BucketName, pl.DataFrame]:
        """The table by the buckets that its rows are in, which these need not name."""
        if not table.height:
            return {}
        return table.partition_by(self.operator.bucket, as_dict=True, include_key=named)


def _order(name: BucketName) -> tuple[int, ...]:
    """Buckets in the order of their names; rows in no window come first."""
    return tuple(-1 if value is None else value for value in name)
