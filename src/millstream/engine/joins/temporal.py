"""The temporal join in columns: versions sorted by time, and rows that wait for their versions."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from millstream.engine.joins.sides import OTHER, VALUES, accepted, closed_at
from millstream.engine.operator import BY_KEY, ROWS, Advance, Outputs, Stepped, Tables, facts_of
from millstream.engine.row_order import ORDER
from millstream.engine.tables import concatenated, looked_up
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.plan.operators.temporal_join import Direction
from millstream.plan.operators.two_sides import LEFT, RIGHT


class TemporalJoin:
    """Keeps rows ``waiting`` for the watermark, and the ``versions`` that these and later
    ones may meet: those that are not superseded yet. Versions are sorted by time, and of one time
    by arrival.
    """

    order = ORDER
    bucket = BY_KEY
    deferral = None

    def __init__(
        self,
        keys: Sequence[str],
        how: str,
        direction: Direction,
        grace: int,
        tolerance: int | None,
    ) -> None:
        self._keys = list(keys)
        self._inner = how == "inner"
        self._direction = direction
        self._grace = grace
        self._tolerance = tolerance
        self._waits = 0 if direction == "backward" else tolerance
        """How long after its time a row may meet a version; None: until the end of input."""

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """Takes versions and rows, then matches the rows whose versions have all arrived."""
        outputs: Outputs = defaultdict(list)
        before = closed_at(advance.watermark_before, self._grace)
        decided = self._decided(closed_at(advance.watermark, self._grace))
        left = accepted(batches.get(LEFT), LEFT, before, outputs)
        right = accepted(batches.get(RIGHT), RIGHT, before, outputs)
        versions = self._with(tables.get("versions"), right)
        waiting = concatenated(tables.get("waiting"), left)
        if waiting is not None:
            is_ready = waiting["time"] < decided
            ready, waiting = waiting.filter(is_ready), waiting.filter(~is_ready)
            if ready.height:
                in_time = ready.sort("time", maintain_order=True)
                outputs[ROWS].append(self._matched(in_time, versions))
        versions = self._needed(versions, decided)
        found = {"versions": versions, "waiting": waiting}
        present = {name: t for name, t in found.items() if t is not None and t.height}
        first = pl.col("time").min()
        facts = facts_of(waiting, self.bucket, wakes=self._wakes(first), holds=first)
        return Stepped(present, outputs, facts)

    def _decided(self, closed: int) -> int:
        """The time before which rows have all versions that they may meet."""
        if closed == END_OF_TIME:
            return END_OF_TIME
        return START_OF_TIME if self._waits is None else max(closed - self._waits, START_OF_TIME)

    def _wakes(self, time: pl.Expr) -> pl.Expr:
        """The watermark at which a row of that time has all of its versions."""
        if self._waits is None:
            return pl.lit(END_OF_TIME)
        later = self._waits + self._grace + 1
        return pl.when(time < END_OF_TIME - later).then(time + later).otherwise(END_OF_TIME)

    # Versions.

    def _with(
        self, versions: pl.DataFrame | None, arrived: pl.DataFrame | None
    ) -> pl.DataFrame | None:
        """The versions with those that arrived, less those that are taken back."""
        if arrived is None:
            return versions
        arrived = arrived.drop_nulls(self._keys) if self._keys else arrived
        kept = [*BY_KEY, *self._keys, "time", VALUES, "deleted", "sign"]
        arrived = arrived.select(name for name in kept if name in arrived.columns)
        added = arrived.filter(pl.col("sign") > 0).drop("sign")
        merged = concatenated(versions, added)
        assert merged is not None
        merged = merged.sort("time", maintain_order=True)
        taken = arrived.filter(pl.col("sign") < 0)
        return _less(merged, taken, [*self._keys, "time", VALUES]) if taken.height else merged

    def _needed(self, versions: pl.DataFrame | None, decided: int) -> pl.DataFrame | None:
        """The versions that rows which are not decided may meet.

        Of those before that time, only the newest of each key is valid then, if any is.
        """
        if versions is None or decided == START_OF_TIME:
            return versions
        is_old = versions["time"] < decided
        if not is_old.any():
            return versions
        later = versions.filter(~is_old)
        if self._direction == "forward":
            return later
        old = versions.filter(is_old).unique(
            [*BY_KEY, *self._keys], keep="last", maintain_order=True
        )
        if self._tolerance is not None:
            old = old.filter(pl.col("time") >= max(decided - self._tolerance, START_OF_TIME))
        return pl.concat([_without_deleted(old), later], how="vertical")

    # Matches.

    def _matched(self, rows: pl.DataFrame, versions: pl.DataFrame | None) -> pl.DataFrame:
        """The rows with the versions that they meet, null where there are none."""
        if versions is None or not versions.height:
            empty = rows.with_columns(pl.lit(None).alias(OTHER))
            return empty.head(0) if self._inner else empty
        if self._keys:
            distinct = rows.select(self._keys).drop_nulls().unique(maintain_order=True)
            slots = distinct.with_row_index("slot")
            rows = looked_up(rows, slots, self._keys)
            versions = looked_up(versions, slots, self._keys, "inner")
        else:
            slot = pl.lit(0, pl.UInt32).alias("slot")
            rows, versions = rows.with_columns(slot), versions.with_columns(slot)
        names = [name for name in ("slot", "time", VALUES, "deleted") if name in versions.columns]
        versions = versions.select(names).unique(["slot", "time"], keep="last", maintain_order=True)
        versions = versions.rename({VALUES: OTHER}).with_columns(since=pl.col("time"))
        found = self._nearest(rows, versions)
        found = found.filter(pl.col("since").is_not_null()) if self._inner else found
        return found.drop("slot", "since")

    def _nearest(self, rows: pl.DataFrame, versions: pl.DataFrame) -> pl.DataFrame:
        """The rows with the version in the direction; of two that are as near, the earlier one."""
        if self._direction == "backward":
            return _valid(_as_of(rows, versions, "backward", self._tolerance))
        after = _as_of(rows, _without_deleted(versions), "forward", self._tolerance)
        if self._direction == "forward":
            return after
        before = _valid(_as_of(rows, versions, "backward", self._tolerance))
        is_nearer = (after["since"] - after["time"]) < (before["time"] - before["since"])
        use_after = is_nearer.fill_null(False) | before["since"].is_null()
        chosen = [
            pl.when(use_after).then(after[name]).otherwise(before[name]).alias(name)
            for name in (OTHER, "since")
        ]
        return before.with_columns(chosen)


def _as_of(
    rows: pl.DataFrame, versions: pl.DataFrame, strategy: Direction, tolerance: int | None
) -> pl.DataFrame:
    # Both are sorted by time; Polars could check that only without ``by``.
    return rows.join_asof(
        versions,
        on="time",
        by="slot",
        strategy=strategy,
        tolerance=tolerance,
        check_sortedness=False,
    )


def _valid(found: pl.DataFrame) -> pl.DataFrame:
    """A version that deletes leaves none."""
    if "deleted" not in found.columns:
        return found
    there = ~pl.col("deleted").fill_null(False)
    chosen = [pl.when(there).then(name).alias(name) for name in (OTHER, "since")]
    return found.with_columns(chosen).drop("deleted")


def _without_deleted(versions: pl.DataFrame) -> pl.DataFrame:
    if "deleted" not in versions.columns:
        return versions
    return versions.filter(~pl.col("deleted").fill_null(False))


def _less(rows: pl.DataFrame, taken: pl.DataFrame, alike: list[str]) -> pl.DataFrame:
    """The rows less those that are taken back: of equal ones, the newest."""
    counts = taken.group_by(alike).agg(gone=pl.len())
    rows = rows.join(counts, on=alike, how="left", nulls_equal=True, maintain_order="left")
    from_end = pl.len().over(alike) - pl.int_range(pl.len()).over(alike)
    return rows.filter(from_end > pl.col("gone").fill_null(0)).drop("gone")
