"""Runs the turns of keys all at once, for a processor that has ``on_batch``."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from millstream.engine.operator import PageName
from millstream.engine.process.batch import Batch, BatchOutput, BatchTimers
from millstream.engine.process.columns import HeldColumns
from millstream.engine.process.held import placed
from millstream.engine.process.per_key import PerKey, Ran, Turn
from millstream.engine.tables import concatenated
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.model.processors import ROW, SLOT, TAG, TIME, TIMER, overrides
from millstream.reference.functions import failure

_MOST_ROUNDS = 10_000
"""So often ``on_timers`` runs in a step; what then is still due happens key by key."""


class InColumns:
    """Runs ``on_batch`` over the rows and ``on_timers`` over the timers, if there is one; then the
    keys to which something else happens one by one.

    What it gives is what the turns of the keys one by one give, to the order of what is emitted.
    """

    def __init__(self, per_key: PerKey) -> None:
        self._per_key = per_key
        self._what = what = per_key.what
        callbacks = ("on_timer", "on_expiry", "on_end")
        self._only_rows = not what.timers and not any(
            overrides(what.processor, name) for name in callbacks
        )
        """Whether all that can happen to a key beside rows is that it is forgotten."""

    def run(self, turn: Turn) -> Ran:
        """All turns, in the order of their slots."""
        removed: dict[PageName, None] = {}
        if turn.keys is not None:  # on_batch has whole columns, whatever was there before
            whole, removed = self._per_key.held.paged.whole(turn.keys, turn.pages)
            turn = replace(turn, keys=whole, pages=None)
        held = HeldColumns(self._what, self._per_key.names, turn)
        emitted = {} if turn.rows is None else self._rows(held, turn.rows)
        if overrides(self._what.processor, "on_timers"):
            emitted = self._with_timers(held, emitted)
        keys, timers = held.keys, held.timers
        happens = held.happens(keys)
        stays = held.stays & ~happens
        ran = Ran(
            keys.filter(stays),
            placed(timers.filter(stays.gather(timers["slot"])), turn.slots),
            emitted,
        )
        if happens.any() and not self._only_rows:
            ran = self._with_others(ran, _some(turn, keys, timers, happens), keys.filter(happens))
        emitted = {tag: table.drop("slot") for tag, table in ran.emitted.items()}
        return replace(ran, emitted=emitted, pages=removed)

    def failure(self, turn: Turn, error: BaseException) -> RunError:
        """The error for what ``on_batch`` raised, where the rows one by one raise nothing."""
        if isinstance(error, RunError) and error.step == self._what.step:
            return RunError(error.code, error.what, fix=error.fix, step=error.step)
        rows = 0 if turn.rows is None else turn.rows.height
        both = overrides(self._what.processor, "on_timers")
        who = f"on_batch{' or on_timers' if both else ''} of {self._what.name}"
        fix = "fix it: on_row takes the same rows; millstream.testing.check_forms compares the two"
        return failure(self._what.step, who, f"{rows} rows", error, fix)

    def _rows(self, held: HeldColumns, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """What ``on_batch`` emits for the rows; ``held`` is then as it leaves it."""
        rows = rows.with_columns(time=pl.when(pl.col("time") > START_OF_TIME + 1).then("time"))
        given = rows["row"].struct.unnest()
        given = given.with_columns(rows["slot"].alias(SLOT), rows["time"].alias(TIME))
        made = self._call("on_batch", held, rows, given)
        held.note(rows)
        return made

    def _with_timers(
        self, held: HeldColumns, emitted: dict[str, pl.DataFrame]
    ) -> dict[str, pl.DataFrame]:
        """With what ``on_timers`` emits: each time for the next timer of each key."""
        tables = {tag: [table] for tag, table in emitted.items()}
        for _ in range(_MOST_ROUNDS):
            fired = held.fire()
            if not fired.height:
                break
            emits = pl.col("output_time")
            before = pl.lit(held.turn.at.watermark_before)
            rows = fired.select(
                "slot",
                time=pl.when("holds").then(emits).otherwise(pl.max_horizontal(emits, before)),
            )
            since = pl.when(fired["by_clock"]).then(rows["time"]).otherwise(fired["time"])
            given = held.key_columns[fired["slot"]].with_columns(
                fired["slot"].alias(SLOT),
                fired["time"].alias(TIME),
                fired["name"].alias(TIMER),
                fired["tag"].alias(TAG),
            )
            made = self._call("on_timers", held, rows.with_columns(since=since), given)
            for tag, table in made.items():
                tables.setdefault(tag, []).append(table)
        return {
            tag: pl.concat(some).sort("slot", maintain_order=True) for tag, some in tables.items()
        }

    def _call(
        self, callback: str, held: HeldColumns, rows: pl.DataFrame, given: pl.DataFrame
    ) -> dict[str, pl.DataFrame]:
        """What a callback emits for what it is given; ``held`` is then as it leaves it."""
        what, times = self._what, self._per_key.turns.times
        batch = Batch(what, held.turn.slots, rows, held.turn.at)
        outputs: dict[str, BatchOutput] = {}
        outputs.update((tag, BatchOutput(batch, tag, outputs)) for tag in what.outputs)
        timers = BatchTimers(batch)
        call, began = getattr(what.processor, callback), times.now()
        state = call(given.with_row_index(ROW), held.state, timers.given, outputs["rows"])
        held.take(state, callback)
        times.add(callback, began, {})
        held.timers = timers.after(held.timers)
        made = {tag: output.emitted for tag, output in outputs.items()}
        return {tag: table for tag, table in made.items() if table is not None}

    def _with_others(self, ran: Ran, turn: Turn, keys: pl.DataFrame) -> Ran:
        """With the keys that have more than rows in this step, one by one."""
        after = self._per_key.run(turn, with_slots=True)
        emitted = dict(ran.emitted)
        for tag, table in after.emitted.items():
            table = table.with_columns(slot=keys["slot"].gather(table["slot"]))
            mine = concatenated(emitted.get(tag), table)
            assert mine is not None
            emitted[tag] = mine.sort("slot", maintain_order=True)

        def merged(mine: pl.DataFrame, theirs: pl.DataFrame) -> pl.DataFrame:
            theirs = theirs.with_columns(slot=keys["slot"].gather(theirs["slot"]))
            return pl.concat([mine, theirs.select(mine.columns)]).sort("slot", maintain_order=True)

        return Ran(merged(ran.keys, after.keys), merged(ran.timers, after.timers), emitted)


def _some(turn: Turn, keys: pl.DataFrame, timers: pl.DataFrame, which: pl.Series) -> Turn:
    """The turn of some of the keys, after their rows: their slots are numbered anew."""
    slots = turn.slots.filter(which).with_columns(slot=pl.int_range(pl.len(), dtype=pl.UInt32))
    new = (which.cast(pl.UInt32).cum_sum() - 1).gather(timers["slot"])
    mine = timers.with_columns(slot=new).filter(which.gather(timers["slot"]))
    return Turn(slots, None, keys.filter(which).with_columns(slots["slot"]), mine, turn.at)
