"""Runs users' functions over rows, and says precisely which record made one fail."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from millstream.model.errors import MillstreamError, RunError
from millstream.plan.functions import function_name
from millstream.plan.nodes import Function
from millstream.plan.rows import row_of
from millstream.reference.rows import Row

Reject = Callable[[str, Any], None]
"""Takes the reason and the record."""

_MOST_LISTED = 10


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
        elif node.on_error == "fail" and isinstance(error, RunError) and error.step == node.name:
            what = f"{error.what}; it was made of {_told(record)}"
            # Of two such errors in a traceback, the driver would find the one that knows less.
            raise RunError(error.code, what, fix=error.fix, step=error.step) from None
        elif node.on_error == "fail":
            fix = 'mend it, or write on_error="reject" to send such records to .rejected'
            name = function_name(node.function)
            raise failure(node.name, name, _told(record), error, fix) from error
        return []


def _told(record: Any) -> str:
    """What a function was given: a record, or a batch of them."""
    return f"the records {listed(record)}" if isinstance(record, list) else f"the record {record!r}"


def failure(step: str | None, what: str, on: str, error: Exception, fix: str) -> RunError:
    """The error that names the step, what failed in it, and the record."""
    return RunError("MS201", f"{what} failed on {on}: {_reason(error)}", fix=fix, step=step)


def listed(values: Sequence[Any]) -> str:
    """Values for a message: the first of them, and how many more there are.

    >>> listed([1, "a"]), listed(range(1000))
    ("[1, 'a']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more]')
    """
    more = len(values) - _MOST_LISTED
    first = ", ".join(repr(value) for value in values[:_MOST_LISTED])
    return f"[{first} and {more} more]" if more > 0 else f"[{first}]"


def _reason(error: Exception) -> str:
    """The error in a line of text that can be written, whatever was half of a surrogate pair."""
    told = error.what if isinstance(error, MillstreamError) else f"{type(error).__name__}: {error}"
    return told.encode(errors="backslashreplace").decode()
