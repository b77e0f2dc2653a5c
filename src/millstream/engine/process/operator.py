"""A user's processor over tables: each step, some keys have a turn."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from millstream.engine.grouping.windows import windows_of
from millstream.engine.operator import (
    BY_KEY,
    LATE,
    REJECTED,
    ROWS,
    Advance,
    Facts,
    Outputs,
    PagedTables,
    PageName,
    Stepped,
    Tables,
    facts_of,
    least,
)
from millstream.engine.process.in_columns import InColumns
from millstream.engine.process.per_key import PerKey, Ran, Turn
from millstream.engine.rows import rejected_rows
from millstream.engine.tables import concatenated, looked_up
from millstream.model.instants import END_OF_TIME, START_OF_TIME
from millstream.plan.operators.process import Processing
from millstream.reference.call_times import CallTimes
from millstream.reference.functions import cause_of
from millstream.reference.processor_clock import Clock, processor_watermark
from millstream.reference.turns import Turns

_PLACE = ("origin", "split", "offset")
_WINDOW = ("start", "end")


class Process:
    """Runs a processor for the keys that rows arrived for, or that something happens to.

    Its tables are ``keys`` and ``timers`` (see ``HeldTables``), and ``waiting``: rows whose turn in
    the order of event time has not come. What it emits is numbered in the order of its turns, which
    a repeated step repeats, in columns or key by key.
    """

    order = ("number",)
    bucket = BY_KEY
    deferral = None

    def __init__(self, what: Processing, keys: Sequence[str]) -> None:
        self._what = what
        self._keys = list(keys)
        self._turn = [*BY_KEY, *keys, *_WINDOW]
        """The columns that say whose turn it is."""
        self._whose = [*keys, *(() if what.window is None else _WINDOW)] or [*BY_KEY]
        """Those of them that suffice: the bucket follows from the key."""
        self._turns = Turns(what, checks_later=True)
        names = dict(zip(keys, what.keys, strict=True))
        self._per_key = PerKey(what, names, self._turns)
        self._in_columns = InColumns(self._per_key) if what.by_batch else None
        self._windows = None if what.window is None else windows_of(what.window)
        self._by_time = what.order == "event_time"
        self._order = ["time", *_PLACE] if self._by_time else [*_PLACE]
        self._behind = (what.lateness or 0) if self._by_time else 0
        """How far the processor's own watermark is behind the operator's."""

    @property
    def call_times(self) -> CallTimes:
        """How long callbacks took in the last step."""
        return self._turns.times

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """The turns of keys: of their rows in order, then of what their time has come for."""
        outputs: Outputs = defaultdict(list)
        at = Clock(
            processor_watermark(self._what, advance.watermark_before),
            processor_watermark(self._what, advance.watermark),
            advance.now,
        )
        arrived = self._arrived(batches.get(ROWS), at, outputs)
        rows, waiting = self._in_turn(arrived, tables.get("waiting"), at)
        keys, timers = self._per_key.held.completed(tables.get("keys")), tables.get("timers")
        pages = tables.pages if isinstance(tables, PagedTables) else None
        stored = self._per_key.held.paged.stored(keys, pages)
        slots, rows = self._slots(rows, keys, at)
        if slots is None:
            return self._stepped(keys, timers, waiting, outputs)
        mine_keys, other_keys = self._split(keys, slots)
        mine_timers, other_timers = self._split(timers, slots)
        ran = self._ran(Turn(slots, rows, mine_keys, mine_timers, at, stored))
        for tag, table in ran.emitted.items():
            outputs[tag].append(table.with_columns(number=pl.int_range(pl.len())))
        if self._turns.rejected:
            reasons, records = map(list, zip(*self._turns.rejected, strict=True))
            self._turns.rejected.clear()
            outputs[REJECTED].append(rejected_rows(self._what.step, reasons, records))
        return self._stepped(
            concatenated(other_keys, ran.keys.drop("slot")),
            concatenated(other_timers, ran.timers.drop("slot")),
            waiting,
            outputs,
            ran.pages,
        )

    def _ran(self, turn: Turn) -> Ran:
        """The turns of keys in columns, if the processor can; otherwise key by key."""
        if self._in_columns is None:
            return self._per_key.run(turn)
        try:
            return self._in_columns.run(turn)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a user's callback raises
            self._turns.outputs.clear()
            self._turns.rejected.clear()
            # Key by key, the row that fails is known: it is rejected, or the error names it.
            ran = self._per_key.run(turn)
            if self._what.on_error == "fail":
                raise self._in_columns.failure(turn, error) from cause_of(error)
            return ran

    # Which rows and keys have a turn.

    def _arrived(
        self, batch: pl.DataFrame | None, at: Clock, outputs: Outputs
    ) -> pl.DataFrame | None:
        """The rows of a batch with their windows; those that are late are emitted as late."""
        if batch is None or not batch.height:
            return None
        if self._windows is None:
            none = pl.lit(None, pl.Int64)
            batch = batch.with_columns(start=none, end=none)
        else:
            batch = self._windows.assign(batch)
        batch = batch.with_columns(late=self._late(at))
        is_late = batch["late"].is_not_null()
        if is_late.any():
            outputs[LATE].append(batch.filter(is_late))
            batch = batch.filter(~is_late)
        return batch.drop("late")

    def _late(self, at: Clock) -> pl.Expr:
        """Why rows are late, judged by the watermark as it was before the step."""
        what = self._what
        if what.lateness is None:
            return pl.lit(None, pl.String)
        if self._windows is None or self._by_time:
            allowed = 0 if self._by_time else what.lateness
            behind = pl.col("time") < max(at.watermark_before - allowed, START_OF_TIME)
            late = pl.when(behind).then(pl.lit("behind"))
        else:
            expired = self._windows.expired(at.watermark_before, what.lateness)
            late = pl.when(expired).then(pl.lit("expired"))
        if self._windows is None:
            return late
        return pl.when(pl.col("start").is_null()).then(pl.lit("no window")).otherwise(late)

    def _in_turn(
        self, arrived: pl.DataFrame | None, waiting: pl.DataFrame | None, at: Clock
    ) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """The rows whose turn it is, in order, and those that wait."""
        if arrived is not None:
            arrived = arrived.sort(self._order, maintain_order=True)
        if not self._by_time:
            return arrived, None
        rows = concatenated(waiting, arrived)
        if rows is None:
            return None, None
        # Of one time, rows that have waited are first: places are those in a batch.
        rows = rows.sort("time", maintain_order=True)
        ready = rows["time"] < at.watermark
        return rows.filter(ready), rows.filter(~ready)

    def _slots(
        self, rows: pl.DataFrame | None, keys: pl.DataFrame | None, at: Clock
    ) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """A row for each key and window that has a turn, numbered ``slot``; and the rows by it."""
        found, rows = (None, None) if rows is None or not rows.height else self._by_slot(rows)
        if keys is not None:
            due = keys.filter((pl.col("wakes") <= at.watermark) | (pl.col("due") <= at.now))
            due = due.select(self._turn)
            if found is not None and due.height:
                due = due.join(found, on=self._whose, how="anti", nulls_equal=True)
            found = concatenated(found, due)
        if found is None or not found.height:
            return None, None
        return found.select(self._turn).with_row_index("slot"), rows

    def _by_slot(self, rows: pl.DataFrame) -> tuple[pl.DataFrame, pl.DataFrame]:
        """Whose rows these are, in the order of their first ones; and the rows slot by slot."""
        others = [name for name in self._turn if name not in self._whose]
        numbered = rows.select(self._turn).with_row_index("at")
        groups = numbered.group_by(self._whose, maintain_order=True).agg(
            "at", *(pl.first(name) for name in others)
        )
        order = groups.with_row_index("slot").select("slot", "at").explode("at")
        return groups.drop("at"), rows[order["at"]].with_columns(order["slot"])

    def _split(
        self, table: pl.DataFrame | None, slots: pl.DataFrame
    ) -> tuple[pl.DataFrame | None, pl.DataFrame | None]:
        """The rows of a table that are of these slots, with the slot, and all others."""
        if table is None:
            return None, None
        whose = slots.select("slot", *self._whose)
        found = looked_up(table, whose, self._whose)
        is_mine = found["slot"].is_not_null()
        return found.filter(is_mine), table.filter(~is_mine)

    # What a step gives.

    def _stepped(
        self,
        keys: pl.DataFrame | None,
        timers: pl.DataFrame | None,
        waiting: pl.DataFrame | None,
        outputs: Outputs,
        pages: Mapping[PageName, pl.DataFrame | None] | None = None,
    ) -> Stepped:
        tables = {"keys": keys, "timers": timers, "waiting": waiting}
        held = facts_of(
            keys,
            self.bucket,
            wakes=self._later(pl.col("wakes").min()),
            due=pl.col("due").min() - 1,
            holds=pl.col("holds").min(),
        )
        waits = facts_of(
            waiting,
            self.bucket,
            wakes=self._later(pl.col("time").min() + 1),
            holds=pl.col("time").min(),
        )
        facts = {name: _both(held.get(name), waits.get(name)) for name in {**held, **waits}}
        present = {name: t for name, t in tables.items() if t is not None and t.height}
        return Stepped(present, outputs, facts, pages or {})

    def _later(self, time: pl.Expr) -> pl.Expr:
        """The operator's watermark at which the processor's own one has come to a time."""
        if not self._behind:
            return time
        return (
            pl.when(time < END_OF_TIME - self._behind)
            .then(time + self._behind)
            .otherwise(END_OF_TIME)
        )


def _both(one: Facts | None, other: Facts | None) -> Facts:
    a, b = one or Facts(), other or Facts()
    return Facts(min(a.wakes, b.wakes), least(a.due, b.due), least(a.holds, b.holds))
