"""An interval join over buckets of event time: rows meet as they come, each pair once."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Mapping, Sequence

import numpy as np
import polars as pl

from millstream.engine.joins.matching import Condition, Matching
from millstream.engine.joins.side_rows import SideRows, changed
from millstream.engine.joins.sides import OTHER, VALUES
from millstream.engine.operator import (
    LATE,
    ROWS,
    Advance,
    BucketName,
    Facts,
    Outputs,
    Stepped,
    Tables,
    facts_of,
)
from millstream.engine.tables import concatenated, rows_of
from millstream.model.instants import START_OF_TIME
from millstream.plan.operators.interval_join import Side
from millstream.plan.operators.two_sides import LEFT, RIGHT

PORTS = (LEFT, RIGHT)
_ROWS = (VALUES, OTHER)
_SLICES = 8
"""How many buckets there are about of the rows of one side that are kept."""
_SHORTEST = 1_000_000


class IntervalJoin:
    """Rows of both sides, each in a bucket of its ``side`` and of a slice of event time.

    A batch has the keys, ``time``, ``sign``, and the row itself where that is emitted or compared.
    All that is kept are rows: whether a row has met one of the other side is found by matching it
    with them, so rows are kept until nothing depends on them.
    """

    order = ("number",)
    bucket = ("side", "start", "end")
    deferral = None
    keys: Sequence[str] = ()
    """Parts are not cut into lanes: whatever keys rows have, they are read together."""

    def __init__(
        self,
        sides: tuple[Side, Side],
        keys: Sequence[str],
        pairs: bool,
        at_once: bool,
        spread: int,
        condition: Condition | None = None,
    ) -> None:
        self._sides = sides
        self._keys = list(keys)
        self._pairs = pairs
        self._at_once = at_once
        self._width = max(spread // _SLICES, _SHORTEST)
        left = sides[0]
        self._matching = Matching(keys, left.earliest, left.latest, condition)
        self._whole = [
            pairs or condition is not None or side.alone is not None or side.retracted
            for side in sides
        ]
        """Whether rows of a side are kept whole, and not only their keys and times."""

    # Buckets of event time.

    def combined(self, tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
        """Parts of one bucket as one."""
        return rows_of(tables)

    def ends(self, bucket: BucketName) -> int:
        """When the last row of a slice is not needed any more."""
        number, _, end = bucket
        assert number is not None
        assert end is not None
        return end + self._sides[number].keep

    def reads(
        self,
        batches: Mapping[str, pl.DataFrame],
        buckets: Collection[BucketName],
        awake: Collection[BucketName],
    ) -> set[BucketName]:
        """The buckets whose rows may meet those that came; and those whose rows these may meet,
        where it counts whether a row has met another.
        """
        arrived = [self._slices_of(batches.get(port), i) for i, port in enumerate(PORTS)]
        read: set[BucketName] = set(awake)
        for i, side in enumerate(self._sides):
            mine, others = arrived[i], self._meeting(1 - i, arrived[1 - i], buckets)
            read |= others
            if side.retracted:
                read |= {name for name in buckets if name in mine}
            if side.alone is not None:
                asked = {name for name in awake if name[0] == i}
                asked |= others if self._counts(side) else set()
                read |= self._meeting(i, asked, buckets)
        return read

    def _slices_of(self, batch: pl.DataFrame | None, side: int) -> set[BucketName]:
        if batch is None:
            return set()
        starts = (batch["time"] // self._width).unique() * self._width
        return {(side, start, start + self._width) for start in starts}

    def _meeting(
        self, side: int, names: Collection[BucketName], buckets: Collection[BucketName]
    ) -> set[BucketName]:
        """The buckets of the other side whose rows may meet rows of these buckets of a side."""
        what = self._sides[side]
        bounds = [(s + what.earliest, e - 1 + what.latest) for _, s, e in names]  # type: ignore[operator]
        return {
            name
            for name in buckets
            if name[0] != side
            and any(name[1] <= last and first < name[2] for first, last in bounds)  # type: ignore[operator]
        }

    # A step.

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """The pairs that rows make that came; then rows by themselves, where they are emitted."""
        late: Outputs = defaultdict(list)
        kept: Tables = {}
        facts: dict[BucketName, Facts] = {}
        sides: list[SideRows | None] = []
        for i, (port, side) in enumerate(zip(PORTS, self._sides, strict=True)):
            arrived = self._arrived(batches.get(port), i, advance, late)
            sides.append(changed(tables.get(port), arrived, self._keys, side.retracted))
            facts |= self._facts(side, sides[-1], advance)
            if arrived is not None:
                stays = arrived.filter(pl.col("end") + side.keep > advance.watermark)
                if stays.height:
                    kept[port] = stays.drop("wakes")
        emitted = self._emitted(sides, advance)
        outputs: Outputs = defaultdict(list, late)
        if emitted:
            rows = rows_of(emitted)
            outputs[ROWS].append(rows.with_columns(number=pl.int_range(pl.len(), dtype=pl.Int64)))
        return Stepped(kept, outputs, facts)

    def _arrived(
        self, batch: pl.DataFrame | None, number: int, advance: Advance, outputs: Outputs
    ) -> pl.DataFrame | None:
        """The rows of a batch with their slices; those behind the watermark are emitted as late."""
        if batch is None:
            return None
        is_late = batch["time"] < advance.watermark_before
        if is_late.any():
            late = batch.filter(is_late)
            outputs[LATE].append(late.with_columns(side=pl.lit(PORTS[number])))
            batch = batch.filter(~is_late)
        side = self._sides[number]
        if side.alone in (None, "matched"):
            batch = batch.drop_nulls(self._keys)
        start = pl.col("time") // self._width * self._width
        rows = batch.select(
            *self._keys,
            "time",
            *([VALUES] if self._whole[number] else []),
            *(["sign"] if side.retracted else []),
            side=pl.lit(number, pl.Int64),
            start=start,
            end=start + self._width,
            wakes=pl.lit(START_OF_TIME, pl.Int64),
        )
        return rows if rows.height else None

    def _counts(self, side: Side) -> bool:
        """Whether it counts at once that a row meets another, and not when it is decided."""
        return self._at_once or side.alone == "matched"

    def _facts(
        self, side: Side, rows: SideRows | None, advance: Advance
    ) -> dict[BucketName, Facts]:
        """Rows that are not decided hold the output watermark at their own times."""
        if side.alone is None or rows is None:
            return {}
        decided = pl.col("time") + side.latest + 1
        waiting = rows.after.filter(decided > advance.watermark, decided >= pl.col("wakes"))
        first = pl.col("time").min()
        return facts_of(waiting, self.bucket, wakes=first + side.latest + 1, holds=first)

    def _emitted(self, sides: Sequence[SideRows | None], advance: Advance) -> list[pl.DataFrame]:
        """All that is taken back, then all that is emitted."""
        left, right = sides
        back: list[pl.DataFrame | None] = []
        made: list[pl.DataFrame | None] = []
        if left is not None and right is not None and self._pairs:
            back += [
                self._paired(left.removed, right.before),
                self._paired(left.kept, right.removed),
            ]
            made += [self._paired(left.added, right.after), self._paired(left.kept, right.added)]
        for i, rows in enumerate(sides):
            if rows is not None and self._sides[i].alone is not None:
                self._single(i, rows, sides[1 - i], advance, back, made)
        signed = [(back, -1), (made, 1)]
        return [
            table.with_columns(sign=pl.lit(sign, pl.Int64))
            for tables, sign in signed
            for table in tables
            if table is not None and table.height
        ]

    def _paired(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame | None:
        """Pairs, each at the later of both times."""
        met = self._matching.pairs(left, right)
        if not met.height:
            return None
        mine, other = left[met["l"]], right[met["r"]]
        time = pl.max_horizontal(mine["time"], other["time"])
        return pl.select(mine[VALUES], other[VALUES].alias(OTHER), time=time)

    # Rows by themselves.

    def _single(
        self,
        number: int,
        rows: SideRows,
        others: SideRows | None,
        advance: Advance,
        back: list[pl.DataFrame | None],
        made: list[pl.DataFrame | None],
    ) -> None:
        """Rows of a side that are emitted by themselves, or taken back, because of this step."""
        side = self._sides[number]
        before = None if others is None else others.before
        after = None if others is None else others.after
        is_decided = pl.col("time") + side.latest < advance.watermark
        was_decided = pl.col("time") + side.latest < advance.watermark_before
        if self._counts(side):
            touched = self._touched(number, rows, others)
            was, now = (self._is_met(number, touched, each) for each in (before, after))
            turned = was != now
            shows = now if side.alone == "matched" else ~now
            back.append(self._alone(number, touched.filter(turned & ~shows)))
            made.append(self._alone(number, touched.filter(turned & shows)))
            removed, added = rows.removed, rows.added
        else:
            fresh = is_decided & (pl.col("time") + side.latest + 1 >= pl.col("wakes"))
            decided = rows.kept.filter(fresh)
            made.append(self._alone(number, decided.filter(~self._is_met(number, decided, after))))
            removed, added = rows.removed.filter(was_decided), rows.added.filter(is_decided)
        for some, all, emitted in ((removed, before, back), (added, after, made)):
            met = self._is_met(number, some, all)
            emitted.append(self._alone(number, some.filter(met == (side.alone == "matched"))))

    def _touched(self, number: int, rows: SideRows, others: SideRows | None) -> pl.DataFrame:
        """The rows that stay and may meet rows of the other side that come or go."""
        if others is None:
            return rows.kept.clear()
        changes = concatenated(others.added, others.removed)
        assert changes is not None
        return rows.kept.filter(self._is_met(number, rows.kept, changes))

    def _is_met(self, number: int, rows: pl.DataFrame, others: pl.DataFrame | None) -> pl.Series:
        """Of each row, whether it meets any of the others."""
        if others is None:
            return pl.Series(np.zeros(rows.height, np.bool_))
        return pl.Series(self._matching.met(rows, others, is_left=number == 0))

    def _alone(self, number: int, rows: pl.DataFrame) -> pl.DataFrame:
        return rows.select(pl.col(VALUES).alias(_ROWS[number]), "time")
