"""A grouping of a program: rows become elements with a key, and panes become rows."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan.lineage import kind_column, taking_back
from millstream.plan.operators.grouping import Grouping
from millstream.reference.aggregates import Column
from millstream.reference.computing import Compute
from millstream.reference.elements import Element, Late
from millstream.reference.groups import MakeGroups, reference_groups
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.rows import Row, late_row, pane_row, row_order


class GroupingOperator:
    """A grouping and its state, which any engine may keep: that is what ``make`` decides."""

    def __init__(self, node: Grouping, make: MakeGroups = reference_groups) -> None:
        self.node = node
        (self._port,) = node.ports
        self._keyed = Keyed(node, self._port)
        values = self._keyed.values
        columns = [
            Column(a, values.get(f"of {i}", dict), values.get(f"by {i}", _nothing))
            for i, (_, a, _) in enumerate(node.aggregates)
        ]
        self._attribute: Compute = values.get("attribute", _nothing)
        self._kind = kind_column(node.input)
        self._groups = make(node.windowing, columns, taking_back(node.input) is not None)
        self._names = node.key_columns, tuple(name for name, _, _ in node.aggregates)

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """The panes, and what was too late for its windows."""
        groups = self._groups
        given = rows[self._port.name]
        in_order = sorted(given, key=row_order) if self.node.ordered else given
        with in_step(self.node.name):
            emissions = groups.take(map(self._element, in_order), watermark, now)
        late = [late_row(self._as_given(each)) for each in groups.late]
        groups.late.clear()
        panes = [pane_row(each, *self._names, self.node.retracts) for each in emissions]
        return Output({ROWS: panes, "late": late}, groups.advance_output_watermark())

    def close(self) -> None:
        """Releases what the engine holds open."""
        self._groups.close()

    def _as_given(self, late: Late) -> Late:
        """A late row as it arrived: a retraction is marked as one."""
        if self._kind is None or late.element.kind == "+":
            return late
        values = {**late.element.value, self._kind: "-"}
        return replace(late, element=replace(late.element, value=values))

    def _element(self, row: Row) -> tuple[Any, Element]:
        values = dict(row.values)
        if self._kind is not None and row.kind == "-":
            values[self._kind] = "+"  # a retraction must equal the row that it takes back
        time = START_OF_TIME + 1 if row.time is None else row.time
        attribute = self._attribute(values)
        return self._keyed.key(values), Element(values, time, row.kind, attribute)


def _nothing(values: Mapping[str, Any]) -> None:
    return None
