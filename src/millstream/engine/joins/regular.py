"""The regular join in columns: what arrived at a side meets what the other one has.

Equal rows of a side are one, with their ``count``; so a step adds up what arrived to a change of
each count. Of rows that may be emitted alone, the number of their ``matches`` is kept, so that rows
which have lived long enough can be dropped.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from millstream.engine.joins.matching import Condition
from millstream.engine.joins.sides import OTHER, VALUES, accepted, closed_at
from millstream.engine.operator import (
    BY_KEY,
    ROWS,
    Advance,
    BucketName,
    Facts,
    Outputs,
    Stepped,
    Tables,
    facts_of,
)
from millstream.engine.tables import concatenated
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.plan.operators.two_sides import LEFT, RIGHT
from millstream.reference.operators.pairs import not_there

_KEPT_ALONE = {LEFT: ("left", "full", "anti"), RIGHT: ("right", "full")}
"""The joins that emit rows of a side which have no match."""
_COUNTED = {LEFT: (*_KEPT_ALONE[LEFT], "semi"), RIGHT: _KEPT_ALONE[RIGHT]}
_PAIRS = ("inner", "left", "right", "full")


class RegularJoin:
    """Keeps the rows of each side, in the tables ``left`` and ``right``: ``count`` of each, and how
    many rows each ``matches``.

    Rows meet whose times are at most ``ttl`` apart. A row may be late by that much, and may then
    meet one that is as much older: so rows are kept for twice the ``ttl``.
    """

    order = ("time", "sign")
    bucket = BY_KEY
    deferral = None

    def __init__(
        self,
        step: str,
        keys: Sequence[str],
        how: str,
        ttl: int | None,
        condition: Condition | None = None,
    ) -> None:
        self._step = step
        self._keys = list(keys)
        self._row = [*BY_KEY, *keys, "time", VALUES]
        self._how = how
        self._ttl = ttl
        self._condition = condition

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """Takes the rows of both sides, and emits how the join has changed."""
        outputs: Outputs = defaultdict(list)
        closed = START_OF_TIME
        if self._ttl is not None:
            closed = closed_at(advance.watermark_before, self._ttl)
        changed, others = {}, {}
        arrived = {
            side: self._arrived(accepted(batches.get(side), side, closed, outputs), side, outputs)
            for side in (LEFT, RIGHT)
        }
        slots = self._slots(*arrived.values())
        for side in (LEFT, RIGHT):
            mine, others[side] = self._split(tables.get(side), slots)
            changed[side] = self._changed(mine, arrived[side], slots)
        held = {
            LEFT: self._counted(changed[LEFT], changed[RIGHT], LEFT),
            RIGHT: self._counted(changed[RIGHT], changed[LEFT], RIGHT),
        }
        self._emit(held[LEFT], held[RIGHT], outputs)
        kept = {
            side: self._living(concatenated(others[side], self._kept(held[side])), advance)
            for side in (LEFT, RIGHT)
        }
        present = {side: t for side, t in kept.items() if t is not None and t.height}
        return Stepped(present, outputs, self._facts(concatenated(*present.values())))

    # What arrived.

    def _arrived(
        self, rows: pl.DataFrame | None, side: str, outputs: Outputs
    ) -> pl.DataFrame | None:
        """The change of each row's count; rows with a null in their key meet nothing."""
        if rows is None:
            return None
        if self._keys:
            has_null = pl.any_horizontal(pl.col(name).is_null() for name in self._keys)
            alone = rows.filter(has_null)
            if alone.height and self._how in _KEPT_ALONE[side]:
                values = {LEFT: VALUES, RIGHT: OTHER}[side]
                outputs[ROWS].append(alone.select("time", "sign", pl.col(VALUES).alias(values)))
            rows = rows.filter(~has_null)
        net = rows.group_by(self._row, maintain_order=True).agg(change=pl.col("sign").sum())
        net = net.filter(pl.col("change") != 0)
        return net if net.height else None

    def _slots(self, *arrived: pl.DataFrame | None) -> pl.DataFrame | None:
        """The keys for which something arrived, numbered."""
        keys = concatenated(
            *(None if t is None else t.select(*BY_KEY, *self._keys) for t in arrived)
        )
        if keys is None:
            return None
        return keys.unique([*BY_KEY, *self._keys], maintain_order=True).with_row_index("slot")

    def _split(
        self, table: pl.DataFrame | None, slots: pl.DataFrame | None
    ) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """The rows of the keys for which something arrived, and all others."""
        if table is None or slots is None:
            return None, table
        on = [*BY_KEY, *self._keys]
        found = table.join(slots, on=on, how="left", nulls_equal=True, maintain_order="left")
        is_mine = found["slot"].is_not_null()
        return found.filter(is_mine), table.filter(~is_mine)

    def _changed(
        self, held: pl.DataFrame | None, arrived: pl.DataFrame | None, slots: pl.DataFrame | None
    ) -> pl.DataFrame | None:
        """The rows of these keys, numbered ``at``, with their counts before and ``after``."""
        if slots is None:
            return None
        if arrived is not None:
            on = [*BY_KEY, *self._keys]
            arrived = arrived.join(slots, on=on, nulls_equal=True, maintain_order="left")
        rows = concatenated(held, arrived)
        if rows is None:
            return None
        for name in ("count", "matches", "change"):
            if name not in rows.columns:
                rows = rows.with_columns(pl.lit(0, pl.Int64).alias(name))
        rows = rows.group_by([*self._row, "slot"], maintain_order=True).agg(
            pl.col("count", "matches", "change").sum()
        )
        rows = rows.with_columns(after=pl.col("count") + pl.col("change")).with_row_index("at")
        if (rows["after"] < 0).any():
            raise not_there(self._step)
        return rows

    # What changes.

    def _emit(
        self, left: pl.DataFrame | None, right: pl.DataFrame | None, outputs: Outputs
    ) -> None:
        """Emits the changes of pairs and of rows alone."""
        if left is not None and right is not None and self._how in _PAIRS:
            outputs[ROWS].append(self._pairs(left, right))
        for side, mine in ((LEFT, left), (RIGHT, right)):
            if mine is None:
                continue
            alone = pl.col("matches") == 0, pl.col("now") == 0
            if side == LEFT and self._how == "semi":
                alone = ~alone[0], ~alone[1]
            elif self._how not in _KEPT_ALONE[side]:
                continue
            before, after = (
                pl.when(is_alone).then(name).otherwise(0)
                for is_alone, name in zip(alone, ("count", "after"), strict=True)
            )
            values = pl.col(VALUES).alias(VALUES if side == LEFT else OTHER)
            outputs[ROWS].append(_copies(mine.select("time", values, change=after - before)))

    def _pairs(self, left: pl.DataFrame, right: pl.DataFrame) -> pl.DataFrame:
        """The changes of pairs: what changed on the left meets what was on the right, and what
        changed on the right meets what is on the left.
        """
        was, new = pl.col("count"), pl.col("change")
        met = [
            self._met(left, right, new, was),
            self._met(left, right, pl.col("after"), new),
        ]
        net = (
            pl.concat(met)
            .group_by("at", "at_right", maintain_order=True)
            .agg(pl.col("change").sum())
        )
        one, other = left[net["at"]], right[net["at_right"]]
        return _copies(
            pl.DataFrame(
                [
                    pl.select(time=pl.max_horizontal(one["time"], other["time"]))["time"],
                    one[VALUES],
                    other[VALUES].alias(OTHER),
                    net["change"],
                ]
            )
        )

    def _met(
        self,
        left: pl.DataFrame,
        right: pl.DataFrame,
        mine: pl.Expr,
        others: pl.Expr,
        side: str = LEFT,
    ) -> pl.DataFrame:
        """The places of rows that meet, where both factors are not zero, and their product.

        With the other ``side`` first, the sides are the other way round.
        """
        one = left.select("slot", "time", "at", mine.alias("n")).filter(pl.col("n") != 0)
        other = right.select("slot", "time", "at", others.alias("n")).filter(pl.col("n") != 0)
        met = one.join(other, on="slot", maintain_order="left_right")
        if self._ttl is not None:
            met = met.filter((pl.col("time") - pl.col("time_right")).abs() <= self._ttl)
        if self._condition is not None and met.height:
            rows = left[met["at"]], right[met["at_right"]]
            met = met.filter(self._condition(*(rows if side == LEFT else rows[::-1])))
        return met.select("at", "at_right", change=pl.col("n") * pl.col("n_right"))

    # What is kept.

    def _counted(
        self, mine: pl.DataFrame | None, other: pl.DataFrame | None, side: str
    ) -> pl.DataFrame | None:
        """The rows of a side with how many they match ``now``, if that decides about them."""
        if mine is None:
            return None
        now = pl.col("matches")
        if other is None or self._how not in _COUNTED[side]:
            return mine.with_columns(now=now)
        was_there = (pl.col("count") > 0).cast(pl.Int64)
        more = [
            self._met(mine, other, was_there, pl.col("change"), side),
            self._met(mine, other, 1 - was_there, pl.col("after"), side),
        ]
        added = pl.concat(more).group_by("at").agg(pl.col("change").sum().alias("more"))
        found = mine.join(added, on="at", how="left", maintain_order="left")
        return found.with_columns(now=now + pl.col("more").fill_null(0)).drop("more")

    def _kept(self, rows: pl.DataFrame | None) -> pl.DataFrame | None:
        if rows is None:
            return None
        there = rows.filter(pl.col("after") > 0)
        return there.select(*self._row, count="after", matches="now")

    def _living(self, rows: pl.DataFrame | None, advance: Advance) -> pl.DataFrame | None:
        if rows is None or self._ttl is None or advance.watermark >= END_OF_TIME:
            return rows
        return rows.filter(pl.col("time") >= closed_at(advance.watermark, 2 * self._ttl))

    def _facts(self, rows: pl.DataFrame | None) -> dict[BucketName, Facts]:
        """A bucket is read again when all of its rows can be dropped, if nothing arrives before."""
        if self._ttl is None:
            return {}
        return facts_of(rows, self.bucket, wakes=pl.col("time").max() + 2 * self._ttl + 1)


def _copies(changes: pl.DataFrame) -> pl.DataFrame:
    """A row for each that is added, or taken back."""
    changed = changes.filter(pl.col("change") != 0)
    times = pl.col("change").abs()
    repeated = changed.with_columns(sign=pl.col("change").sign().repeat_by(times)).explode("sign")
    return repeated.drop("change")
