"""Runs a whole program on the reference: every grouping, step by step, chained or joined."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from functools import partial
from typing import Any

from millstream.model.errors import MillstreamError, RunError
from millstream.model.instants import START_OF_TIME
from millstream.model.refinements import retracting
from millstream.model.watermarks import (
    Bounded,
    Punctuated,
    WatermarkPolicy,
    latest_time,
    why_ahead,
)
from millstream.plan import nodes
from millstream.plan.lineage import allowed_ahead, kind_column, taking_back
from millstream.plan.nodes import Node, walk
from millstream.plan.records import record_text
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import Sql, SqlError, sql_failure, sql_of, sql_reason
from millstream.plan.steps import in_step
from millstream.plan.types.schema import Schema
from millstream.reference.aggregates import Column
from millstream.reference.elements import Element, Emission, Late
from millstream.reference.expressions import compiled
from millstream.reference.functions import apply, key_of
from millstream.reference.grouping import MakeGroups, reference_groups
from millstream.reference.rows import Row, event_time, late_row, pane_row, why_no_time
from millstream.reference.watermarks import InputWatermark, Told, origins_of, walk_origins

Compute = Callable[[Mapping[str, Any]], Any]


class Interpreter:
    """A running program. Each call of ``step`` is one bundle: all of its groupings advance.

    Within a step a grouping takes its input's rows, then its watermark, then the clock, so that
    what is emitted before a watermark arrives downstream before it.

    Where it ``follows`` the watermark policies, they move the watermarks of the sources, each of
    which is one split. ``clock`` is what event times are held against as long as no step moves it.
    """

    def __init__(
        self,
        *outputs: Node,
        groups: MakeGroups = reference_groups,
        follows: bool = False,
        clock: int | None = None,
    ) -> None:
        self._order = list(walk(*outputs))
        self._groupings: dict[nodes.Grouping, _Grouping] = {}
        self._stateless: dict[Node, Callable[[Step], list[Row]]] = {}
        for node in self._order:
            with in_step(node.name):  # what the reference cannot compute is refused here
                if isinstance(node, nodes.Grouping):
                    self._groupings[node] = _Grouping(node, groups)
                elif not isinstance(node, nodes.Source):
                    self._stateless[node] = _stateless(node)
        self._watermarks: dict[Node, int] = dict.fromkeys(self._order, START_OF_TIME)
        self._inputs = {g: InputWatermark(origins_of(g)) for g in self._groupings if follows}
        self._now = 0
        self._clock = clock

    def step(
        self,
        rows: Mapping[str, Iterable[dict[str, Any]]] | None = None,
        watermarks: Mapping[str, int] | None = None,
        now: int | None = None,
    ) -> Step:
        """Rows and watermarks of sources by their names, and the clock; what each node put out."""
        self._now = max(self._now, self._now if now is None else now)
        self._clock = self._clock if now is None else self._now
        step = Step(self._clock)
        for node in self._order:
            before = self._watermarks[node]
            if isinstance(node, nodes.Source):
                step.rows[node] = [Row(dict(values)) for values in (rows or {}).get(node.name, ())]
                moved = (watermarks or {}).get(node.name, START_OF_TIME)
                self._watermarks[node] = max(self._watermarks[node], moved)
            elif isinstance(node, nodes.Grouping):
                self._run_grouping(node, step)
            else:
                self._watermarks[node] = min(self._watermarks[n] for n in node.inputs)
                step.rows[node] = self._stateless[node](step)
            if self._watermarks[node] > before:
                step.moved.add(node)
        return step

    def close(self) -> None:
        """Lets go of what the groupings hold open."""
        for grouping in self._groupings.values():
            grouping.groups.close()

    def _run_grouping(self, node: nodes.Grouping, step: Step) -> None:
        grouping = self._groupings[node]
        watermark = self._watermarks[node.input]
        if node in self._inputs:
            watermark = self._inputs[node].advance(self._told(node, step), self._now)
        grouping.run(step, watermark, self._now)
        self._watermarks[node] = grouping.groups.advance_output_watermark()

    def _told(self, node: nodes.Grouping, step: Step) -> list[Told]:
        """What the origins of a grouping's watermark have told in a step."""
        told = []
        for origin in walk_origins(node):
            if origin in step.marks:
                told.append(Told(origin.name, "", step.marks[origin], self._now))
            if origin in step.moved or isinstance(origin, nodes.Stateful):
                told.append(Told(origin.name, "", self._watermarks[origin], self._now))
        return told


class Step:
    """What one step made: rows and emissions of each node, late elements, rejected records.

    ``ahead`` has the rows whose times are too far ahead of the clock, if there is one; ``marks``
    the watermarks that policies have made of the times of other rows; ``moved`` the nodes whose
    watermarks were moved by what the sources were given.
    """

    def __init__(self, clock: int | None = None) -> None:
        self.clock = clock
        self.ahead: dict[Node, list[Row]] = {}
        self.marks: dict[Node, int] = {}
        self.moved: set[Node] = set()
        self.rows: dict[Node, list[Row]] = {}
        self.emissions: dict[Node, list[Emission]] = {}
        self.late_elements: dict[Node, list[Late]] = {}
        self.rejected: dict[Node, list[Row]] = {}

    def reject(self, node: Node, reason: str, record: Any) -> None:
        values = {"step": node.name, "reason": reason, "record": record_text(record)}
        self.rejected.setdefault(node, []).append(Row(values))


class _Grouping:
    """A grouping of the program and its state."""

    def __init__(self, node: nodes.Grouping, make: MakeGroups) -> None:
        self.node = node
        sql = {name: _or_fail(compute) for name, compute in _computes(node).items()}
        self._keys = [
            sql[f"key {i}"] if isinstance(key, Expression) else partial(key_of, node.name, key)
            for i, (_, key) in enumerate(node.keys)
        ]
        columns = [
            Column(a, sql.get(f"of {i}", dict), sql.get(f"by {i}", _nothing))
            for i, (_, a, _) in enumerate(node.aggregates)
        ]
        self._kind = kind_column(node.input)
        self.groups = make(node.windowing, columns, taking_back(node.input) is not None)

    def run(self, step: Step, watermark: int, now: int) -> None:
        node, groups = self.node, self.groups
        with in_step(node.name):
            emissions = groups.take(map(self._keyed, step.rows[node.input]), watermark, now)
        step.late_elements[node] = [self._as_given(late) for late in groups.late]
        groups.late.clear()
        step.emissions[node] = emissions
        names = tuple(n for n, _ in node.keys), tuple(n for n, _, _ in node.aggregates)
        is_retracting = node.windowing.refine is retracting
        step.rows[node] = [pane_row(e, *names, is_retracting) for e in emissions]

    def _as_given(self, late: Late) -> Late:
        """What is late is the row as it came: a retraction says that it is one."""
        if self._kind is None or late.element.kind == "+":
            return late
        values = {**late.element.value, self._kind: "-"}
        return replace(late, element=replace(late.element, value=values))

    def _keyed(self, row: Row) -> tuple[Any, Element]:
        values = dict(row.values)
        if self._kind is not None and row.kind == "-":
            values[self._kind] = "+"  # a retraction must equal the row that it takes back
        key = tuple(compute(values) for compute in self._keys)
        time = START_OF_TIME + 1 if row.time is None else row.time
        return key, Element(values, time, row.kind)


def _nothing(values: Mapping[str, Any]) -> None:
    return None


class _FailedError(Exception):
    """An expression of a step failed on a row."""

    def __init__(self, sql: Sql, error: SqlError) -> None:
        super().__init__(sql, error)
        self.sql = sql
        self.error = error


def _or_fail(compute: Compute) -> Compute:
    def computed(values: Mapping[str, Any]) -> Any:
        try:
            return compute(values)
        except _FailedError as failed:
            raise sql_failure(failed.sql, failed.error, values) from None

    return computed


def _computes(node: nodes.SqlStep | nodes.Grouping) -> dict[str, Compute]:
    """The expressions of a step, each by its name."""
    return {sql.name: _compute(sql, node.input.schema) for sql in sql_of(node)}


def _compute(sql: Sql, schema: Schema) -> Compute:
    if sql.expression.column is not None:
        raise RunError(
            "MS203",
            f"the reference cannot compute the PySpark Column {sql.expression.text}",
            fix="write it as Spark SQL text",
        )
    function = compiled(sql.expression.text, schema)

    def compute(values: Mapping[str, Any]) -> Any:
        try:
            return function(values)
        except SqlError as error:
            raise _FailedError(sql, error) from None

    return compute


def _stateless(node: Node) -> Callable[[Step], list[Row]]:
    """What a step without state makes of its inputs' rows."""
    match node:
        case nodes.EventTime():
            return lambda step: _with_event_time(node, step)
        case nodes.Filter():
            condition = _computes(node)["condition"]
            return _of_rows(node, lambda values: values if condition(values) else None)
        case nodes.Select() | nodes.WithColumns():
            return _columns(node)
        case nodes.Function():
            return lambda step: apply(
                node, step.rows[node.input], lambda why, what: step.reject(node, why, what)
            )
        case nodes.SideOutput(tag="late"):
            return lambda step: [late_row(late) for late in step.late_elements[node.input]]
        case nodes.Rejected():
            behind = list(walk(node.input))
            return lambda step: [r for n in behind for r in step.rejected.get(n, ())]
        case nodes.Union() | nodes.Sink():
            return lambda step: [row for n in node.inputs for row in step.rows[n]]
    raise nodes.unknown_kind(node)


def _with_event_time(node: nodes.EventTime, step: Step) -> list[Row]:
    timed = []
    for row in step.rows[node.input]:
        value = row.values[node.column]
        try:
            timed.append(Row(row.values, event_time(value), row.kind))
        except (ValueError, ArithmeticError, MillstreamError):
            step.reject(node, f"event time {node.column!r}: {why_no_time(value)}", row.values)
    return timed if node.watermark is None else _followed(node, node.watermark, timed, step)


def _followed(
    node: nodes.EventTime, policy: WatermarkPolicy, rows: list[Row], step: Step
) -> list[Row]:
    """The rows, without those that are rejected because they are too far ahead of the clock."""
    ahead = allowed_ahead(node)
    latest = None if ahead is None or step.clock is None else latest_time(step.clock, ahead)
    kept, times = [], []
    for row in rows:
        time = _time_to_follow(policy, row)
        if ahead is not None and latest is not None and time is not None and time > latest:
            step.ahead.setdefault(node, []).append(row)
            if policy.on_ahead == "reject":
                step.reject(node, why_ahead(policy, node.column, ahead), row.values)
                continue
        elif time is not None:
            times.append(time)
        kept.append(row)
    if times:
        disorder = policy.disorder if isinstance(policy, Bounded) else 0
        step.marks[node] = max(times) - disorder
    return kept


def _time_to_follow(policy: WatermarkPolicy, row: Row) -> int | None:
    if not isinstance(policy, Punctuated):
        return row.time
    try:
        return event_time(row.values[policy.column])
    except (ValueError, ArithmeticError, MillstreamError):
        return None


def _columns(node: nodes.Select | nodes.WithColumns) -> Callable[[Step], list[Row]]:
    computes = _computes(node)
    keeps = isinstance(node, nodes.WithColumns)

    def run(values: dict[str, Any]) -> dict[str, Any]:
        made = {name: compute(values) for name, compute in computes.items()}
        known = {**values, **made} if keeps else made
        # A new column replaces one that differs from it by case alone.
        return {name: known[name] for name in node.schema.names}

    return _of_rows(node, run)


def _of_rows(
    node: nodes.SqlStep, run: Callable[[dict[str, Any]], dict[str, Any] | None]
) -> Callable[[Step], list[Row]]:
    """A step that makes one row of each, or none."""

    def made(step: Step) -> list[Row]:
        rows = []
        for row in step.rows[node.input]:
            try:
                values = run(row.values)
            except _FailedError as failed:
                if node.on_error == "fail":
                    raise sql_failure(failed.sql, failed.error, row.values) from None
                if node.on_error == "reject":
                    step.reject(node, sql_reason(failed.sql), row.values)
                continue
            if values is not None:
                rows.append(Row(values, row.time, row.kind))
        return rows

    return made
