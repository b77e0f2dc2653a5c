"""Runs users' functions over rows, and says precisely which record made one fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any

from millstream.model.errors import RunError
from millstream.plan.nodes import Function
from millstream.plan.rows import row_of
from millstream.reference.rows import Row

Reject = Callable[[str, Any], None]
"""Takes the reason and the record."""


def apply(node: Function, rows: list[Row], reject: Reject) -> list[Row]:
    """The rows that a function makes; each keeps the event time and kind of its input."""
    if node.shape == "map_batches":
        return _apply_to_batch(node, rows, reject)
    return [
        Row(values, row.time, row.kind)
        for row in rows
        for values in _guarded(node, row.values, reject, _call_on_row)
    ]


def _call_on_row(node: Function, values: dict[str, Any]) -> list[dict[str, Any]]:
    made = node.function(dict(values))
    many = made if node.shape == "flat_map" else [made]
    return [_row(node, one) for one in many]


def _row(node: Function, made: Any) -> dict[str, Any]:
    return row_of(made, node.schema, what="its result", step=node.name)


def _apply_to_batch(node: Function, rows: list[Row], reject: Reject) -> list[Row]:
    # A function may make any number of rows of a batch, and each must have a time and a kind:
    # so rows are given to it in groups that share both, and its results share them too.
    groups: dict[tuple[Any, Any], list[dict[str, Any]]] = {}
    for row in rows:
        groups.setdefault((row.time, row.kind), []).append(row.values)
    return [
        Row(values, time, kind)
        for (time, kind), batch in groups.items()
        for values in _guarded(node, batch, reject, _call_on_batch)
    ]


def _call_on_batch(node: Function, batch: list[dict[str, Any]]) -> list[dict[str, Any]]:
    made = node.function([dict(values) for values in batch])
    return [_row(node, one) for one in made]


def _guarded(
    node: Function,
    record: Any,
    reject: Reject,
    call: Callable[[Function, Any], list[dict[str, Any]]],
) -> Iterable[dict[str, Any]]:
    try:
        return call(node, record)
    except Exception as error:  # whatever a user's function raises
        if node.on_error == "reject":
            reject(f"{type(error).__name__}: {error}", record)
        elif node.on_error == "fail":
            raise failure(node.name, node.function, record, error) from error
        return []


def failure(step: str, function: Any, record: Any, error: Exception) -> RunError:
    """The error that names the step, the function and the record."""
    name = getattr(function, "__qualname__", str(function))
    if isinstance(error, RunError):
        return error
    return RunError(
        "MS201",
        f"{name} failed on the record {record!r}: {type(error).__name__}: {error}",
        fix='mend it, or write on_error="reject" to send such records to .rejected',
        step=step,
    )
