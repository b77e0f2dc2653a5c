"""Steps without state: what each makes of the rows of its inputs."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from millstream.model.errors import MillstreamError
from millstream.model.watermarks import (
    Bounded,
    Punctuated,
    WatermarkPolicy,
    latest_time,
    why_ahead,
)
from millstream.plan import nodes
from millstream.plan.lineage import allowed_ahead
from millstream.plan.lookup import Lookup
from millstream.plan.nodes import Node, walk
from millstream.plan.sql.failures import sql_failure, sql_of, sql_reason
from millstream.reference.computing import Compute, FailedError, computes
from millstream.reference.functions import apply
from millstream.reference.lookups import looked_up
from millstream.reference.rows import Row, event_time, why_no_time
from millstream.reference.step import Step


def stateless(node: Node) -> Callable[[Step], list[Row]]:
    """What a step without state makes of its inputs' rows."""
    match node:
        case nodes.EventTime():
            return lambda step: _with_event_time(node, step)
        case nodes.Filter():
            condition = _computes(node)["condition"]
            return _of_rows(node, lambda values: values if condition(values) else None)
        case nodes.Select() | nodes.WithColumns():
            return _columns(node)
        case Lookup():
            table = node.table.open()
            return lambda step: looked_up(node, step.rows[node.input], table.at(step.clock or 0))
        case nodes.Function():
            return lambda step: apply(
                node, step.rows[node.input], lambda why, what: step.reject(node, why, what)
            )
        case nodes.SideOutput():
            return lambda step: step.tagged[node.input][node.tag]
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
            timed.append(Row(row.values, event_time(value, node.unit), row.kind, row.place))
        except (ValueError, ArithmeticError, MillstreamError):
            why = why_no_time(value, node.unit)
            step.reject(node, f"event time {node.column!r}: {why}", row.values)
    return timed if node.watermark is None else _followed(node, node.watermark, timed, step)


def _followed(
    node: nodes.EventTime, policy: WatermarkPolicy, rows: list[Row], step: Step
) -> list[Row]:
    """The rows, without those that are rejected because they are too far ahead of the clock."""
    ahead = allowed_ahead(node)
    latest = None if ahead is None or step.clock is None else latest_time(step.clock, ahead)
    kept, times = [], []
    for row in rows:
        time = _time_to_follow(node, policy, row)
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


def _time_to_follow(node: nodes.EventTime, policy: WatermarkPolicy, row: Row) -> int | None:
    if not isinstance(policy, Punctuated):
        return row.time
    try:
        return event_time(row.values[policy.column], node.unit)
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
            except FailedError as failed:
                if node.on_error == "fail":
                    raise sql_failure(failed.sql, failed.error, row.values) from None
                if node.on_error == "reject":
                    step.reject(node, sql_reason(failed.sql), row.values)
                continue
            if values is not None:
                rows.append(Row(values, row.time, row.kind, row.place))
        return rows

    return made


def _computes(node: nodes.SqlStep) -> dict[str, Compute]:
    return computes(sql_of(node), node.input.schema)
