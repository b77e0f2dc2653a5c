"""Runs the turns of keys all at once, for a processor that has ``on_batch``."""

from __future__ import annotations

from dataclasses import replace

import polars as pl

from millstream.engine.process.batch import Batch, BatchOutput, BatchTimers
from millstream.engine.process.columns import HeldColumns
from millstream.engine.process.held import placed
from millstream.engine.process.per_key import PerKey, Ran, Turn
from millstream.engine.tables import concatenated
from millstream.model.errors import RunError
from millstream.model.instants import START_OF_TIME
from millstream.model.processors import ROW, SLOT, TIME, overrides
from millstream.reference.functions import failure


class InColumns:
    """Runs ``on_batch`` over the rows, then the keys to which something else happens one by one.

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
        held = HeldColumns(self._what, self._per_key.names, turn)
        emitted = {} if turn.rows is None else self._rows(held, turn.rows)
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
        return replace(ran, emitted={tag: t.drop("slot") for tag, t in ran.emitted.items()})

    def failure(self, turn: Turn, error: BaseException) -> RunError:
        """The error for what ``on_batch`` raised, where the rows one by one raise nothing."""
        if isinstance(error, RunError) and error.step == self._what.step:
            return RunError(error.code, error.what, fix=error.fix, step=error.step)
        rows = 0 if turn.rows is None else turn.rows.height
        who = f"on_batch of {self._what.name}"
        fix = "fix it: on_row takes the same rows; millstream.testing.check_forms compares the two"
        return failure(self._what.step, who, f"{rows} rows", error, fix)

    def _rows(self, held: HeldColumns, rows: pl.DataFrame) -> dict[str, pl.DataFrame]:
        """What ``on_batch`` emits for the rows; ``held`` is then as it leaves it."""
        what, at = self._what, held.turn.at
        rows = rows.with_columns(time=pl.when(pl.col("time") > START_OF_TIME + 1).then("time"))
        batch = Batch(what, held.turn.slots, rows, at)
        outputs: dict[str, BatchOutput] = {}
        outputs.update((tag, BatchOutput(batch, tag, outputs)) for tag in what.outputs)
        timers = BatchTimers(batch)
        given = rows["row"].struct.unnest()
        given = given.with_columns(rows["slot"].alias(SLOT), rows["time"].alias(TIME))
        given = given.with_row_index(ROW)
        times = self._per_key.turns.times
        began = times.now()
        held.take(what.processor.on_batch(given, held.state, timers, outputs["rows"]))
        times.add("on_batch", began, {})
        held.note(rows)
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
