"""Runs users' functions over rows, and reports which record made one fail.

Whatever a user's function raises is that function's failure: ``SystemExit`` too, and exceptions
that cannot even be written as text. Only ``KeyboardInterrupt`` passes: the user stops the program.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from copy import deepcopy
from typing import Any

from millstream.model.errors import MillstreamError, RunError
from millstream.plan.build.functions import function_name
from millstream.plan.nodes import Function, KeyFunction
from millstream.plan.records import MOST_TEXT, shown, text_of
from millstream.plan.types.rows import row_of
from millstream.plan.types.values import MisfitError, keeping, python_values
from millstream.reference.rows import Row

Reject = Callable[[str, Any], None]
"""Takes the reason and the record."""

Made = list[dict[str, Any]]
_MOST_LISTED = 10


def apply(node: Function, rows: list[Row], reject: Reject) -> list[Row]:
    """The rows that a function makes; each keeps the event time and kind of its input."""
    if node.shape == "map_batches":
        return _apply_to_batch(node, rows, reject)
    return [
        Row(values, row.time, row.kind, row.place)
        for row in rows
        for values in _guarded(node, row, row.values, reject, _call_on_row)
    ]


def own_copy(values: Mapping[str, Any]) -> dict[str, Any]:
    """A row that whoever gets it may change: what is nested in it is copied, too."""
    return {name: deepcopy(value) for name, value in values.items()}


def _call_on_row(node: Function, row: Row) -> Made:
    made = node.function(own_copy(row.values))
    rows = _rows(node, made if node.shape == "flat_map" else [made])
    if node.kind_column is not None:
        for each in rows:
            _check_kind(node, each[node.kind_column], row)
    return rows


def _check_kind(node: Function, kind: Any, row: Row) -> None:
    """Where rows may be taken back, their kind marks it, and a function passes it on."""
    if kind == row.kind:
        return
    raise RunError(
        "MS202",
        f"the result of {function_name(node.function)} has {shown(kind)} in column "
        f"{node.kind_column!r}, which marks whether a row is taken back, and here must be "
        f"{row.kind!r}",
        fix="copy it from the row that the function gets, row['kind'], or give your column "
        "another name",
        step=node.name,
    )


def _rows(node: Function, made: Any) -> Made:
    what = f"the result of {function_name(node.function)}"
    if not isinstance(made, Iterable) or isinstance(made, str | bytes | Mapping):
        raise RunError(
            "MS202",
            f"{what} is {shown(made)}, not several rows",
            fix=f"{node.shape}(…) takes a function that gives a list of rows, or yields them",
            step=node.name,
        )
    return [row_of(row, node.schema, what=what, step=node.name) for row in made]


def _apply_to_batch(node: Function, rows: list[Row], reject: Reject) -> list[Row]:
    # A function may make any number of rows of a batch, and each must have a time and a kind:
    # so rows are given to it in groups that share both, and its results share them too.
    groups: dict[tuple[Any, Any], list[Row]] = {}
    for row in rows:
        groups.setdefault((row.time, row.kind), []).append(row)
    batches = [([row.values for row in group], group[0]) for group in groups.values()]
    return [
        Row(values, first.time, first.kind, first.place)
        for batch, first in batches
        for values in _guarded(node, batch, batch, reject, _call_on_batch)
    ]


def _call_on_batch(node: Function, batch: Made) -> Made:
    made = node.function([own_copy(values) for values in batch])
    return _rows(node, made)


def _guarded(
    node: Function, given: Any, record: Any, reject: Reject, call: Callable[[Function, Any], Made]
) -> Made:
    try:
        return call(node, given)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's function raises
        if node.on_error == "reject":
            reject(reason_of(error), record)
        elif node.on_error == "fail" and isinstance(error, RunError) and error.step == node.name:
            what = f"{error.what}; it was made of {_given_text(record)}"
            # Of two such errors in a traceback, the driver would find the one that knows less.
            raise RunError(error.code, what, fix=error.fix, step=error.step) from None
        elif node.on_error == "fail":
            fix = 'fix it, or write on_error="reject" to send such records to .rejected'
            name = function_name(node.function)
            made = failure(node.name, name, _given_text(record), error, fix)
            raise made from cause_of(error)
        return []


def key_of(step: str, key: KeyFunction, values: Mapping[str, Any]) -> Any:
    """The key that a user's function makes of a row, held to the type that it promises."""
    name = f"the key function {function_name(key.function)}"
    try:
        made = key.function(own_copy(values))
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's function raises
        fix = "write a function that cannot fail, or compute the key in map(…, on_error='reject')"
        raise failure(step, name, _given_text(values), error, fix) from cause_of(error)
    try:
        return keeping(key.type)(made)
    except MisfitError as error:
        why = f": {error}" if f"{error}" else ""
        raise RunError(
            "MS202",
            f"the result of {name} is {shown(made)}, which does not fit {key.type}{why}; it was "
            f"made of {_given_text(values)}",
            fix=f"let it return {python_values(key.type)}, or None, or say another type: "
            "key_by(…, type=…)",
            step=step,
        ) from None


def _given_text(record: Any) -> str:
    """What a function was given: a record, or a batch of them."""
    several = isinstance(record, list)
    return f"the records {listed(record)}" if several else f"the record {shown(record)}"


def failure(step: str | None, what: str, on: str, error: BaseException, fix: str) -> RunError:
    """The error that names the step, what failed in it, and the record."""
    return RunError("MS201", f"{what} failed on {on}: {reason_of(error)}", fix=fix, step=step)


def cause_of(error: BaseException) -> BaseException | None:
    """What a traceback shows beside a failure: the user's lines, but no text of megabytes."""
    return error if len(text_of(str, error)) <= MOST_TEXT else None


def listed(values: Sequence[Any]) -> str:
    """Values for a message: the first of them, and how many more there are.

    >>> listed([1, "a"]), listed(range(1000))
    ("[1, 'a']", '[0, 1, 2, 3, 4, 5, 6, 7, 8, 9 and 990 more]')
    """
    more = len(values) - _MOST_LISTED
    first = ", ".join(shown(value) for value in values[:_MOST_LISTED])
    return f"[{first} and {more} more]" if more > 0 else f"[{first}]"


def reason_of(error: BaseException) -> str:
    """The error in text that can be written, whatever was half of a surrogate pair."""
    text = f"{type(error).__name__}: {shown(error, str)}"
    text = error.what if isinstance(error, MillstreamError) else text
    return text.encode(errors="backslashreplace").decode()
