"""Runs users' functions over rows, and says precisely which record made one fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from copy import deepcopy
from typing import Any

from millstream.model.errors import MillstreamError, RunError
from millstream.plan.functions import function_name
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


def own_copy(values: dict[str, Any]) -> dict[str, Any]:
    """A row that whoever gets it may change: what is nested in it is copied, too."""
    return {name: deepcopy(value) for name, value in values.items()}


def _call_on_row(node: Function, values: dict[str, Any]) -> list[dict[str, Any]]:
    made = node.function(own_copy(values))
    return _rows(node, made if node.shape == "flat_map" else [made])


def _rows(node: Function, made: Any) -> list[dict[str, Any]]:
    what = f"the result of {function_name(node.function)}"
    if not isinstance(made, Iterable) or isinstance(made, str | Mapping):
        raise RunError(
            "MS202",
            f"{what} is {made!r}, not several rows",
            fix=f"{node.shape}(…) takes a function that gives a list of rows, or yields them",
            step=node.name,
        )
    return [row_of(row, node.schema, what=what, step=node.name) for row in made]


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
    made = node.function([own_copy(values) for values in batch])
    return _rows(node, made)


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
            reject(_reason(error), record)
        elif node.on_error == "fail" and isinstance(error, RunError):
            raise
        elif node.on_error == "fail":
            fix = 'mend it, or write on_error="reject" to send such records to .rejected'
            name = function_name(node.function)
            raise failure(node.name, name, f"the record {record!r}", error, fix) from error
        return []


def failure(step: str | None, what: str, on: str, error: Exception, fix: str) -> RunError:
    """The error that names the step, what failed in it, and the record."""
    return RunError("MS201", f"{what} failed on {on}: {_reason(error)}", fix=fix, step=step)


def _reason(error: Exception) -> str:
    """The error in a line."""
    if isinstance(error, MillstreamError):
        return error.what
    return f"{type(error).__name__}: {error}"
