"""The rows with the greatest values of each key, over all time: emits how they change."""

from __future__ import annotations

import re
from dataclasses import field, make_dataclass
from typing import Any, ClassVar

from millstream.model.arguments import checked_count
from millstream.model.errors import PlanError
from millstream.model.processors import Processor
from millstream.plan.types.result_types import base_type
from millstream.plan.types.schema import Field, Schema, quoted


class Top(Processor):
    """Emits a row that is among the ``n`` greatest of its key, and takes back the one that then is
    not. Of equal rows, the one that came first is the greater one; null is in no such list.
    """

    retracts: ClassVar[bool] = True

    def __init__(self, n: int, by: str, schema: Schema) -> None:
        # sqlglot costs most of an import of millstream: only programs with schemas pay it.
        from millstream.plan.types.fields import StateClass, StateField

        self.n = checked_count(n, "n", example=3)
        self.by = _with_order(schema.resolve(by)).name
        self.columns = list(schema.names)
        inner = ", ".join(f"{quoted(each.name)}: {each.type}" for each in schema)
        # Its name has the column: a program that is resumed by another one is an error.
        self._field = name = "_by_" + re.sub(r"\W", "_", self.by)
        kind = make_dataclass("Kept", [(name, list, field(default_factory=list))])
        rows = StateField(name, f"ARRAY<STRUCT<{inner}>>", [], None, False)
        self.state = StateClass(kind, (rows,))

    def on_row(self, row: Any, state: Any, timers: Any, out: Any) -> None:
        """Takes the row into the list, if it is great enough."""
        value = _in_order(row[self.by])
        if value is None:
            return
        top = [*getattr(state, self._field)]  # greatest first
        place = len(top)
        while place and value > _in_order(top[place - 1][self.by]):
            place -= 1
        if place >= self.n:
            return
        while len(top) >= self.n:  # more than one if the program had a greater n before
            out.retract(top.pop())
        top.insert(place, dict(row))
        out.emit(dict(row))
        setattr(state, self._field, top)

    def on_batch(self, rows: Any, state: Any, timers: Any, out: Any) -> Any:
        """The same for all keys at once: only rows that are great enough are looked at."""
        import polars as pl

        state = state.select("_slot", _top=self._field)
        least = state["_top"].list.get(self.n - 1, null_on_oob=True).struct.field(self.by)
        value = rows[self.by]
        may_enter = value.is_not_null() & (value > least.gather(rows["_slot"])).fill_null(True)
        entering = rows.filter(may_enter)
        if not entering.height:
            return None
        touched = state.join(entering.select("_slot"), on="_slot", how="semi")
        held = touched.select("_slot", "_top").explode("_top").drop_nulls("_top")
        new = entering.select(self.columns).to_struct("_top").cast(held.schema["_top"])
        pool = pl.concat([held["_top"], new])
        tops, gone, come = self._entered(
            held["_slot"].to_list(), entering, pool.struct.field(self.by).to_list()
        )
        for call, (numbers, places) in ((out.retract, gone), (out.emit, come)):
            made = pool.gather(pl.Series(places, dtype=pl.UInt32)).struct.unnest()
            call(made.with_columns(_row=pl.Series(numbers, dtype=pl.UInt32)))
        slots = [slot for slot, places in tops.items() for _ in places]
        places = [place for each in tops.values() for place in each]
        after = pl.DataFrame({"_slot": slots, "_top": pool.gather(places)})
        after = after.group_by("_slot", maintain_order=True).agg("_top")
        return after.rename({"_top": self._field})

    def _entered(
        self, held: list[int], entering: Any, values: list[Any]
    ) -> tuple[dict[int, list[int]], _Changes, _Changes]:
        """The list of each slot after all rows, and what left and entered it: by the number of the
        row that did so. Rows are places in ``values``; those that are ``held`` come first.
        """
        keys = [_in_order(value) for value in values]
        tops: dict[int, list[int]] = {}
        for place, slot in enumerate(held):
            tops.setdefault(slot, []).append(place)
        gone: _Changes = ([], [])
        come: _Changes = ([], [])
        rows = zip(entering["_slot"].to_list(), entering["_row"].to_list(), strict=True)
        for mine, (slot, number) in enumerate(rows, len(held)):
            top = tops.setdefault(slot, [])
            place = len(top)
            while place and keys[mine] > keys[top[place - 1]]:
                place -= 1
            if place >= self.n:
                continue
            while len(top) >= self.n:
                gone[0].append(number)
                gone[1].append(top.pop())
            top.insert(place, mine)
            come[0].append(number)
            come[1].append(mine)
        return tops, gone, come


_Changes = tuple[list[int], list[int]]


def _with_order(column: Field) -> Field:
    if base_type(str(column.type)) in ("ARRAY", "MAP", "STRUCT", "VARIANT"):
        raise PlanError(
            "MS103",
            f"top(by={column.name!r}): the column is {column.type}, which rows are not sorted by",
            fix="give a column of numbers, texts or times",
        )
    return column


def _in_order(value: Any) -> Any:
    """As Spark sorts values: NaN is greater than all numbers."""
    return None if value is None else (value != value, value)
