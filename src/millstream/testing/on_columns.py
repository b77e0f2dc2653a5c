"""Drives the columnar engine as an interpreter drives a grouping: elements in, emissions out."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import polars as pl

from millstream.engine import changes as engine
from millstream.engine.grouping.operator import Grouping
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import INDEX, LATE, ROWS, Outputs
from millstream.engine.state.in_memory import WholeOperator
from millstream.model.aggregates import Count
from millstream.model.errors import RunError, in_step
from millstream.model.instants import START_OF_TIME
from millstream.model.windowing import Windowing
from millstream.model.windows import Interval
from millstream.plan.operators.changes import Changes
from millstream.plan.types.values import MisfitError
from millstream.reference.aggregates import OF_NUMBERS, Column, summarise
from millstream.reference.elements import Element, Emission, Late, PaneInfo
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import Output
from millstream.reference.ordering import ordering
from millstream.reference.rows import Row
from millstream.testing.untyped import UntypedColumn


class ColumnarGroups:
    """A grouping on the columnar engine.

    Keys may be any Python objects, so their column holds numbers; so does that of the elements,
    which come back in the late output.
    """

    def __init__(
        self, windowing: Windowing, columns: Sequence[Column], takes_retractions: bool
    ) -> None:
        self.late: list[Late] = []
        self._aggregated = [
            Aggregated(f"result{i}", column.aggregate, f"of{i}", f"by{i}")
            for i, column in enumerate(columns)
        ]
        self._inputs = [
            (column, UntypedColumn(f"of{i}"), UntypedColumn(f"by{i}"))
            for i, column in enumerate(columns)
        ]
        grouping = Grouping(windowing, ["key"], self._aggregated, takes_retractions)
        self._operator = WholeOperator(grouping)
        self._keys: dict[Any, int] = {}
        self._originals: list[Any] = []

    def take(
        self, elements: Iterable[tuple[Any, Element]], watermark: int, now: int
    ) -> list[Emission]:
        """One step, with the same arguments as the reference."""
        keyed = list(elements)
        outputs = self._step(self._batch(keyed) if keyed else None, watermark, now)
        for table in outputs[LATE]:
            self.late += [self._late(row, keyed) for row in table.iter_rows(named=True)]
        rows = [row for table in outputs[ROWS] for row in table.iter_rows(named=True)]
        return [self._emission(row) for row in sorted(rows, key=self._place)]

    def _step(self, batch: pl.DataFrame | None, watermark: int, now: int) -> Outputs:
        return self._operator.step({} if batch is None else {ROWS: batch}, watermark, now)

    def advance_output_watermark(self) -> int:
        """The watermark for readers of the panes."""
        return self._operator.output_watermark

    def close(self) -> None:
        """Nothing is open."""

    def _batch(self, keyed: list[tuple[Any, Element]]) -> pl.DataFrame:
        elements = [element for _, element in keyed]
        table = pl.DataFrame(
            {
                "key": [self._number(key) for key, _ in keyed],
                "time": [element.time for element in elements],
                "sign": [1 if element.kind == "+" else -1 for element in elements],
                "number": range(len(elements)),
                **{"origin": "", "split": "", "offset": range(len(elements))},
            }
        )
        attribute = [element.attribute for element in elements]
        table = table.with_columns(pl.Series("attribute", attribute, strict=False))
        return table.with_columns(
            each for inputs in self._inputs for each in _columns_of(*inputs, elements)
        )

    def _number(self, key: Any) -> int:
        number = self._keys.setdefault(ordering(key), len(self._originals))
        if number == len(self._originals):
            self._originals.append(key)
        return number

    def _place(self, row: dict[str, Any]) -> tuple[Any, ...]:
        key = ordering(self._originals[row["key"]])
        pane = row["order"], row["end"], row["start"], key, row.get(INDEX)
        return *pane, row["sign"], row["of_start"], row["of_end"]

    def _emission(self, row: dict[str, Any]) -> Emission:
        back = row["sign"] < 0
        return Emission(
            key=self._originals[row["key"]],
            window=Interval(row["of_start"], row["of_end"], row.get(INDEX)),
            value=tuple(row[aggregated.name] for aggregated in self._aggregated),
            info=_info(row, ""),
            kind="-" if back else "+",
            timestamp=row["timestamp"],
            taken_back=_info(row, "old_") if back else None,
        )

    def _late(self, row: dict[str, Any], keyed: list[tuple[Any, Element]]) -> Late:
        key, element = keyed[row["number"]]
        bounds = row["start"], row["end"], row.get(INDEX)
        window = None if row["start"] is None else Interval(*bounds)
        return Late(key, element, window, row["late"])


def _info(row: dict[str, Any], prefix: str) -> PaneInfo:
    timing, index, first, last = (row[prefix + n] for n in ("timing", "index", "first", "last"))
    return PaneInfo(timing, index, first, last)


def _columns_of(
    column: Column, of: UntypedColumn, by: UntypedColumn, elements: list[Element]
) -> list[pl.Series]:
    """An aggregate's inputs; what they are computed from may be any Python objects."""
    values = [column.of(element.value) for element in elements]
    if isinstance(column.aggregate, Count):
        values = [None if value is None else True for value in values]
    try:
        made = of.of(values)
        if isinstance(column.aggregate, OF_NUMBERS) and not _is_number(made.dtype):
            raise MisfitError(f"{values[0]!r} is no number")
        return [made, by.of([column.by(element.value) for element in elements])]
    except MisfitError as error:
        summarise([column], elements)  # raises the reference's error, if it has one
        raise RunError(
            "MS202",
            f"{column.aggregate!r}: {error}",
            fix="give values of one type, or replay them on the reference, which takes any",
        ) from None


def _is_number(kind: pl.DataType) -> bool:
    return kind.is_numeric() or kind in (pl.Boolean, pl.Null)


class ColumnarChanges:
    """The changes of each key on the columnar engine.

    Keys and values may be any Python objects, so their columns hold numbers: equal ones are one.
    """

    def __init__(self, node: Changes) -> None:
        self.node = node
        (self._port,) = node.ports
        self._keyed = Keyed(node, self._port)
        self._operator = WholeOperator(engine.Changes(["key"], ["values"]))
        self._numbers: dict[Any, int] = {}

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """One step, as the reference takes it."""
        given = rows[self._port.name]
        with in_step(self.node.name):
            batch = pl.DataFrame([self._numbered(i, row) for i, row in enumerate(given)])
        outputs = self._operator.step({ROWS: batch} if given else {}, watermark, now)
        changed = [given[i] for table in outputs[ROWS] for i in table["number"]]
        return Output({ROWS: changed}, self._operator.output_watermark)

    def close(self) -> None:
        """Nothing is held open."""

    def _numbered(self, number: int, row: Row) -> dict[str, Any]:
        origin, offset = row.place
        return {
            "bucket": 0,
            "key": self._number("key", self._keyed.key(row.values)),
            "values": self._number("values", [row.values[name] for name in self.node.columns]),
            "time": START_OF_TIME if row.time is None else row.time,
            **{"origin": origin, "split": "", "offset": offset, "number": number},
        }

    def _number(self, what: str, value: Any) -> int:
        return self._numbers.setdefault((what, ordering(value)), len(self._numbers))
