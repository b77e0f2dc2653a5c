"""The sink that calls a user's function with the rows of a slice, its batch and number."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any

import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.model.amounts import counted
from millstream.plan.build.functions import function_name
from millstream.plan.targets import Each, Memory, Target
from millstream.reference.functions import cause_of, failure
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.protocol import Committer, SinkKind
from millstream.sinks.slices import Slice
from millstream.system.folders import AGAIN


class EachSink(SinkKind[Each]):
    """A user's function, for ``write_each``."""

    def opened(self) -> Target:
        """For a result table, tasks only send the changes to the driver."""
        return self.target if self.target.table is None else Memory()

    def writer(self, slice: Slice) -> EachWriter:
        """Calls the function with the rows of the slice."""
        return EachWriter(self.name, self.target.function, slice)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> Committer:
        """Calls the function with the result table, if there is one."""
        if self.target.table is None:
            return EachCommitter()
        from millstream.sinks.whole_table import TableCommitter

        show = partial(_call_with_table, self.name, self.target.function)
        return TableCommitter.kept_in(checkpoint, fence, self.name, self.target.table, show)


class EachWriter:
    """Collects the rows of a slice and makes one call with all of them."""

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
        """Drops the rows; the function was not called with them."""
        self._tables.clear()


class EachCommitter:
    """Leaves everything to the function."""

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Nothing is left to do."""


def _call_with_table(
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
    try:
        function(rows, batch, number)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's function raises
        raise failure(
            sink,
            function_name(function),
            f"batch {batch}, slice {number} ({counted(len(rows), 'row')})",
            error,
            fix=f"fix it, {AGAIN}",
        ) from cause_of(error)
