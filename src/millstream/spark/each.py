"""The sink that is a function of the user: it gets the rows of a slice, its batch and number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.plan.functions import function_name
from millstream.reference.functions import cause_of, failure
from millstream.spark.python_rows import python_rows
from millstream.spark.slices import Slice


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
            self._call(python_rows(pa.concat_tables(self._tables)))
        return b""

    def abort(self) -> None:
        """Forgets the rows; the function has not seen them."""
        self._tables.clear()

    def _call(self, rows: list[dict[str, Any]]) -> None:
        batch, number = self._slice.batch, self._slice.number
        count = "1 row" if len(rows) == 1 else f"{len(rows)} rows"
        try:
            self._function(rows, batch, number)
        except KeyboardInterrupt:
            raise
        except BaseException as error:  # whatever a user's function raises
            raise failure(
                self._sink,
                function_name(self._function),
                f"batch {batch}, slice {number} ({count})",
                error,
                fix="fix it, then run the job again: it resumes with this batch",
            ) from cause_of(error)


class EachCommitter:
    """The function has seen to everything."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Nothing is left to do."""
