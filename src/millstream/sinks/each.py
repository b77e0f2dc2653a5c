"""The sink that is a function of the user: it gets the rows of a slice, its batch and number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.plan.build.functions import function_name
from millstream.reference.functions import cause_of, failure
from millstream.sinks.slices import Slice


class EachWriter:
    """Collects the rows of a slice and makes one call, when all of them are there."""

    def __init__(self, sink: str, function: Callable[[Any, int, int], Any], slice: Slice) -> None:
        self._sink = sink
        self._function = function
        self._slice = slice
        self._tables: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows for the call."""
        if rows.num_rows:
            self._tables.append(rows)

    def close(self) -> bytes:
        """Calls the function, unless the slice has no rows."""
        if self._tables:
            rows = python_rows(pa.concat_tables(self._tables))
            _call(self._sink, self._function, rows, self._slice.batch, self._slice.number)
        return b""

    def abort(self) -> None:
        """Forgets the rows; the function has not seen them."""
        self._tables.clear()


class EachCommitter:
    """The function has seen to everything."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Nothing is left to do."""


def called(
    sink: str, function: Callable[[Any, int, int], Any], batch: int, table: pa.Table
) -> None:
    """Calls the function with a whole table, after the batch that has changed it."""
    _call(sink, function, python_rows(table), batch, 0)


def _call(
    sink: str,
    function: Callable[[Any, int, int], Any],
    rows: list[dict[str, Any]],
    batch: int,
    number: int,
) -> None:
    count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
    try:
        function(rows, batch, number)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's function raises
        raise failure(
            sink,
            function_name(function),
            f"batch {batch}, slice {number} ({count})",
            error,
            fix="fix it, then run the job again: it resumes with this batch",
        ) from cause_of(error)
