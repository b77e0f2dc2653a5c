"""Runs the turns of keys one by one: state and timers from tables to Python, and back."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Any

import polars as pl

from millstream.engine.operator import PageName
from millstream.engine.process.emitted import EmittedColumns
from millstream.engine.process.held import HeldTables
from millstream.engine.process.pages import StoredPages
from millstream.engine.python_rows import python_columns, row_maker
from millstream.model.instants import START_OF_TIME
from millstream.model.processors import Row
from millstream.model.windows import Interval
from millstream.plan.operators.process import Processing
from millstream.reference.processor_clock import Clock
from millstream.reference.turns import Held, Turns


@dataclass(frozen=True)
class Turn:
    """The keys that have a turn in a step.

    ``slots`` has their keys and windows, numbered. ``rows`` are sorted by ``slot``; ``keys`` and
    ``timers`` are what is held of them, with the column ``slot``.
    """

    slots: pl.DataFrame
    rows: pl.DataFrame | None
    keys: pl.DataFrame | None
    timers: pl.DataFrame | None
    at: Clock
    pages: StoredPages | None = None


@dataclass(frozen=True)
class Ran:
    """What is held of the keys after their turn, with their ``slot``, and what they emitted.

    ``pages`` are those that have changed.
    """

    keys: pl.DataFrame
    timers: pl.DataFrame
    emitted: dict[str, pl.DataFrame]
    pages: Mapping[PageName, pl.DataFrame | None] = field(default_factory=dict)


class PerKey:
    """Runs the callbacks of a processor for one key after the other."""

    def __init__(self, what: Processing, names: Mapping[str, str], turns: Turns) -> None:
        self.what = what
        self.names = names
        """The columns of the keys in tables, and what users call them."""
        self.turns = turns
        self.held = HeldTables(what, turns)
        self._columns = {tag: EmittedColumns(schema) for tag, schema in what.outputs.items()}

    def run(self, turn: Turn, with_slots: bool = False) -> Ran:
        """All turns, in the order of their slots; what they emit has the slot, if it is needed."""
        held = self.held.read(turn.keys, turn.timers, turn.pages)
        intervals = self._intervals(turn.slots)
        marks: list[list[int]] | None = [] if with_slots else None
        kept = self._run(turn, intervals, held, marks)
        keys, timers = self.held.tables(turn.slots, kept, intervals)
        return Ran(keys, timers, self._emitted(marks), self.held.pages)

    def _intervals(self, slots: pl.DataFrame) -> list[Interval | None]:
        if self.what.window is None:
            return [None] * slots.height
        return [Interval(*bounds) for bounds in slots.select("start", "end").iter_rows()]

    def _run(
        self,
        turn: Turn,
        intervals: list[Interval | None],
        held: dict[int, Held],
        marks: list[list[int]] | None,
    ) -> dict[int, Held]:
        turns, kept = self.turns, dict[int, Held]()
        columns = python_columns(turn.slots.select(*self.names))
        keys: list[dict[str, Any]] = [{}] * turn.slots.height
        if columns:
            keys = row_maker([*self.names.values()], dict)(*columns)
        given, bounds = _given(turn)
        for slot, (key, (begin, end)) in enumerate(zip(keys, pairwise(bounds), strict=True)):
            mine, interval = given[begin:end], intervals[slot]
            for row in mine:
                row.key, row.interval = key, interval
            after = turns.run(key, interval, held.get(slot) or turns.fresh, mine, turn.at)
            if after is not None:
                kept[slot] = after
            if marks is not None:
                marks.append(turns.outputs.mark())
        return kept

    def _emitted(self, marks: list[list[int]] | None) -> dict[str, pl.DataFrame]:
        made = {}
        for i, (tag, emitted) in enumerate(self.turns.outputs.tagged.items()):
            if emitted.rows:
                made[tag] = pl.DataFrame(
                    {
                        "row": self._columns[tag].table(emitted).to_struct("row"),
                        "time": pl.Series(emitted.times, dtype=pl.Int64),
                        "sign": pl.Series(emitted.signs, dtype=pl.Int8),
                    }
                )
                if marks is not None:
                    counts = pl.Series([mark[i] for mark in marks], dtype=pl.UInt32)
                    each = pl.int_range(len(emitted.rows), dtype=pl.UInt32, eager=True)
                    slots = counts.search_sorted(each, side="right")
                    made[tag] = made[tag].with_columns(slot=slots.cast(pl.UInt32))
        self.turns.outputs.clear()
        return made


def _given(turn: Turn) -> tuple[list[Row], list[int]]:
    """The rows as callbacks get them, slot by slot, and where those of each slot begin."""
    rows, slots = turn.rows, turn.slots
    if rows is None:
        return [], [0] * (slots.height + 1)
    counts = rows["slot"].to_physical().value_counts()
    sizes = dict(counts.iter_rows())
    bounds = [0]
    for slot in range(slots.height):
        bounds.append(bounds[-1] + sizes.get(slot, 0))
    table = rows["row"].struct.unnest()
    given: list[Row] = row_maker(table.columns, Row)(*python_columns(table))
    for row, time in zip(given, rows["time"].to_list(), strict=True):
        row.micros = time if time > START_OF_TIME + 1 else None
    return given, bounds
