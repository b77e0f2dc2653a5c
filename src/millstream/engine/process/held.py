"""What is kept of keys between their turns, as tables: state and times of each key, and timers."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.operator import PageName
from millstream.engine.process.pages import PagedFields, PagedTurn, StoredPages
from millstream.engine.python_rows import python_columns
from millstream.engine.types import arrow_type
from millstream.model.instants import END_OF_TIME
from millstream.model.windows import Interval
from millstream.plan.operators.process import Processing
from millstream.reference.callbacks import Setting
from millstream.reference.turns import Held, Turns

TIMERS = {
    "name": pl.String,
    "tag": pl.String,
    "time": pl.Int64,
    "output_time": pl.Int64,
    "holds": pl.Boolean,
}


class HeldTables:
    """The tables ``keys`` and ``timers``: from what is held in Python, and back.

    ``keys`` also has when something happens to a key (``wakes`` by the watermark, ``due`` by the
    clock), what it ``holds`` the output watermark at, and the names of its ``fields``: a program
    that is resumed may have more.
    """

    def __init__(self, what: Processing, turns: Turns) -> None:
        self._turns = turns
        self.paged = PagedFields(what)
        self._paged = PagedTurn(self.paged, None)
        fields = () if what.state is None else what.state.fields
        self._fields = [(f"field {each.name}", each.type) for each in fields]
        self._defaults = [each.default for each in fields]
        self._known = field_names(what)
        self._written = [f"written {name}" for name in what.times_of_fields]

    def completed(self, keys: pl.DataFrame | None) -> pl.DataFrame | None:
        """The keys with the defaults of fields that were added since they were written."""
        if keys is None or (keys["fields"] == self._known).all():
            return keys
        known = pl.col("fields").str.split(" ")
        columns = []
        for (name, type), default in zip(self._fields, self._defaults, strict=True):
            there = keys[name] if name in keys.columns else _column(name, type, [None])
            lacking = ~known.list.contains(name.removeprefix("field "))
            given = pl.when(lacking).then(_column(name, type, [default])).otherwise(there)
            columns.append(given.alias(name))
        return keys.with_columns(*columns, fields=pl.lit(self._known))

    def read(
        self,
        keys: pl.DataFrame | None,
        timers: pl.DataFrame | None,
        pages: StoredPages | None = None,
    ) -> dict[int, Held]:
        """What is held, by the column ``slot``."""
        held: dict[int, Held] = {}
        self._paged = PagedTurn(self.paged, pages)
        if keys is None or not keys.height:
            return held
        columns = python_columns(keys.select(name for name, _ in self._fields))
        slots = keys["slot"].to_list()
        for index, values_in_pages in self.paged.read(keys, pages).items():
            for row, value in values_in_pages.items():
                columns[index][row] = value
                self._paged.note(slots[row], index, value)
        values = list(zip(*columns, strict=True)) if columns else [()] * keys.height
        written = [keys[name].to_list() for name in self._written]
        times = list(zip(*written, strict=True)) if written else [()] * keys.height
        known = zip(slots, values, keys["last"], keys["seen"], times, strict=True)
        for slot, each, last, seen, at in known:
            held[slot] = Held(each, {}, True, last, seen, at)
        if timers is not None:
            for slot, name, tag, *setting in timers.select("slot", *TIMERS).iter_rows():
                held[slot].timers[name, tag] = Setting(*setting)
        return held

    @property
    def pages(self) -> dict[PageName, pl.DataFrame | None]:
        """The pages that have changed in what ``tables`` was given."""
        return self._paged.changed

    def tables(
        self, slots: pl.DataFrame, held: dict[int, Held], intervals: Sequence[Interval | None]
    ) -> tuple[pl.DataFrame, pl.DataFrame]:
        """The tables of what is held now; ``slots`` has the key of each slot."""
        turns, all_held = self._turns, list(held.values())
        in_pages = self._paged.columns(slots, held)
        columns = [places for _, places in in_pages.values()]
        for i, (name, type) in enumerate(self._fields):
            mine = in_pages[i][0] if i in in_pages else [each.values[i] for each in all_held]
            columns.append(_column(name, type, mine))
        columns += [
            pl.Series(name, [each.written[i] for each in all_held], pl.Int64)
            for i, name in enumerate(self._written)
        ]
        numbers: dict[str, list[int | None]] = {
            "last": [each.last for each in all_held],
            "seen": [each.seen for each in all_held],
            "wakes": [END_OF_TIME] * len(all_held),
            "due": [None] * len(all_held),
            "holds": [None] * len(all_held),
        }
        if turns.has_times:
            bounds = [intervals[slot] for slot in held]
            both = list(zip(bounds, all_held, strict=True))
            numbers["wakes"] = [min(turns.next_wakes(*each), default=END_OF_TIME) for each in both]
            numbers["due"] = [min(turns.next_due(*each), default=None) for each in both]
            numbers["holds"] = [min(turns.holds(*each), default=None) for each in both]
        columns += [pl.Series(name, each, pl.Int64) for name, each in numbers.items()]
        keys = slots[list(held)].with_columns(*columns, fields=pl.lit(self._known))
        timers = [
            (slot, *name, *setting)
            for slot, each in held.items()
            for name, setting in each.timers.items()
        ]
        table = pl.DataFrame(timers, {"slot": pl.UInt32, **TIMERS}, orient="row")
        return keys, placed(table, slots)


def placed(timers: pl.DataFrame, slots: pl.DataFrame) -> pl.DataFrame:
    """Timers with the key and window of their slot."""
    return slots[timers["slot"]].hstack(timers.drop("slot"))


def field_names(what: Processing) -> str:
    """The names of the fields of the state, as keys have them."""
    fields = () if what.state is None else what.state.fields
    return " ".join(sorted(each.name for each in fields))


def default_columns(what: Processing) -> pl.DataFrame:
    """The state of a key that is new: one row."""
    fields = () if what.state is None else what.state.fields
    return pl.DataFrame([_column(f"field {f.name}", f.type, [f.default]) for f in fields])


def _column(name: str, type: str, values: list[Any]) -> pl.Series:
    made = pl.from_arrow(pa.array(values, arrow_type(type)))
    assert isinstance(made, pl.Series)
    return made.alias(name)
