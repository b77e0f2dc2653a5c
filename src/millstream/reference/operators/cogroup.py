"""Cogroups and joins in windows: a grouping over the rows of all ports, each under its port."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from millstream.model.aggregates import Collect
from millstream.model.errors import in_step
from millstream.model.instants import START_OF_TIME
from millstream.plan.lineage import kind_column, taking_back
from millstream.plan.nodes import Port
from millstream.plan.operators.cogroup import Cogroup, WindowJoin
from millstream.plan.sql.failures import Sql
from millstream.reference.aggregates import Column
from millstream.reference.computing import Compute, computes, or_fail
from millstream.reference.elements import Element, Late
from millstream.reference.groups import MakeGroups, reference_groups
from millstream.reference.operators.keys import Keyed
from millstream.reference.operators.operator import ROWS, Output
from millstream.reference.rows import Row, late_row, pane_row, row_order

Values = dict[str, Any]
Holds = Callable[[Values, Values], bool]
"""Whether a pair of rows matches."""


class CogroupOperator:
    """The value of an element is its row under the name of its port, so that all ports are one
    grouping, with a list for each.
    """

    def __init__(self, node: Cogroup, make: MakeGroups = reference_groups) -> None:
        self.node = node
        self._keyed = {port.name: Keyed(node, port) for port in node.ports}
        self._kinds = {port.name: kind_column(port.input) for port in node.ports}
        columns = [Column(Collect(), partial(_of, port.name), _nothing) for port in node.ports]
        takes_back = any(taking_back(port.input) is not None for port in node.ports)
        self._groups = make(node.windowing, columns, takes_back)
        self._names = node.key_columns, tuple(port.name for port in node.ports)

    def step(self, rows: Mapping[str, list[Row]], watermark: int, now: int) -> Output:
        """The panes, and what was too late for its windows."""
        groups, node = self._groups, self.node
        given = [(port, row) for port in node.ports for row in rows[port.name]]
        if node.ordered:
            given.sort(key=lambda each: row_order(each[1]))
        with in_step(node.name):
            elements = [self._element(port, row) for port, row in given]
            emissions = groups.take(elements, watermark, now)
            panes = [pane_row(each, *self._names, node.retracts) for each in emissions]
            made = [row for pane in panes for row in self._made(pane)]
        late = [late_row(self._as_given(each)) for each in groups.late]
        groups.late.clear()
        return Output({ROWS: made, "late": late}, groups.advance_output_watermark())

    def close(self) -> None:
        """Releases what the engine holds open."""
        self._groups.close()

    def _made(self, pane: Row) -> list[Row]:
        """The rows that a pane is emitted as."""
        return [pane]

    def _element(self, port: Port, row: Row) -> tuple[Any, Element]:
        values, kind = dict(row.values), self._kinds[port.name]
        if kind is not None and row.kind == "-":
            values[kind] = "+"  # a retraction must equal the row that it takes back
        time = START_OF_TIME + 1 if row.time is None else row.time
        keyed = self._keyed[port.name]
        computed: Compute = keyed.values.get("attribute", _nothing)
        attribute = computed(values)
        return keyed.key(values), Element({port.name: values}, time, row.kind, attribute)

    def _as_given(self, late: Late) -> Late:
        """A late row under its port, and nothing under the others; retractions are marked."""
        ((port, values),) = late.element.value.items()
        kind = self._kinds[port]
        if kind is not None and late.element.kind == "-":
            values = {**values, kind: "-"}
        row = {each.name: values if each.name == port else None for each in self.node.ports}
        return replace(late, element=replace(late.element, value=row))


class WindowJoinOperator(CogroupOperator):
    """The pairs of each pane. A retraction of a pane takes back all of its pairs."""

    node: WindowJoin

    def __init__(self, node: WindowJoin, make: MakeGroups = reference_groups) -> None:
        super().__init__(node, make)
        self._holds = condition_of(node)

    def _made(self, pane: Row) -> list[Row]:
        node = self.node
        keys = {f.name: pane.values[f.name] for f in node.columns.keys}
        others = {f.name: pane.values[f.name] for f in node.own_columns}
        left, right = node.columns.left, node.columns.right
        firsts = [_renamed(row, left) for row in pane.values["left"]]
        seconds = [_renamed(row, right) for row in pane.values["right"]]

        def holds(first: Values, second: Values) -> bool:
            known = None not in keys.values()
            return known and self._holds({**keys, **first, **second})

        none = dict.fromkeys(f.name for _, f in left), dict.fromkeys(f.name for _, f in right)
        names = [field.name for field in node.columns.fields(node.join)]
        made = []
        for first, second in joined(node.join, firsts, seconds, holds):
            values = {**keys, **(first or none[0]), **(second or none[1])}
            row = {**{name: values[name] for name in names}, **others}
            made.append(replace(pane, values=row))
        return made


def joined(
    how: str, firsts: list[Values], seconds: list[Values], holds: Holds
) -> list[tuple[Values | None, Values | None]]:
    """Which rows meet, and which are padded: their other side is None.

    >>> joined("left", [{"a": 1}, {"a": 2}], [{"b": 2}], lambda one, two: one["a"] == two["b"])
    [({'a': 2}, {'b': 2}), ({'a': 1}, None)]
    """
    pairs = [(i, j) for i, a in enumerate(firsts) for j, b in enumerate(seconds) if holds(a, b)]
    left, right = {i for i, _ in pairs}, {j for _, j in pairs}
    met: list[tuple[Values | None, Values | None]] = [(firsts[i], seconds[j]) for i, j in pairs]
    if how == "semi":
        return [(first, None) for i, first in enumerate(firsts) if i in left]
    made = [] if how == "anti" else met
    if how in ("left", "full", "anti"):
        made += [(first, None) for i, first in enumerate(firsts) if i not in left]
    if how in ("right", "full"):
        made += [(None, second) for j, second in enumerate(seconds) if j not in right]
    return made


def condition_of(node: WindowJoin) -> Callable[[Values], bool]:
    """Whether the further condition is true of a pair, by the columns of the result."""
    if node.condition is None:
        return lambda values: True
    sql = Sql(node, "condition", "the condition", node.condition)
    compute = or_fail(computes([sql], node.columns.pair)["condition"])
    return lambda values: compute(values) is True


def _renamed(row: Values, columns: tuple[tuple[str, Any], ...]) -> Values:
    return {field.name: row[name] for name, field in columns}


def _of(port: str, value: Mapping[str, Any]) -> Any:
    return value.get(port)


def _nothing(values: Mapping[str, Any]) -> None:
    return None
