"""Sinks with the whole result table: the driver keeps it, and passes it on when it changes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.model.errors import RunError
from millstream.plan.targets import Table
from millstream.reference.result_table import remaining_rows
from millstream.sinks.fence import Fence
from millstream.sinks.memory import Rows
from millstream.sinks.table_log import TableLog

Show = Callable[[int, pa.Table], object]
"""Called with a batch that has changed the table, and with the table."""


class TableCommitter:
    """Keeps the table. The changes of a batch are logged before Spark commits the batch.

    >>> committer = TableCommitter("totals", Table(("team",), None), None)
    >>> def receipt(team, total):
    ...     return Rows(0, 1, pa.table({"team": [team], "total": [total]})).packed()
    >>> committer.commit("a1b2c3d4", 0, [receipt("red", 1), receipt("blue", 4)])
    >>> committer.commit("a1b2c3d4", 1, [receipt("red", 3)])
    >>> committer.rows()
    [{'team': 'red', 'total': 3}, {'team': 'blue', 'total': 4}]
    """

    def __init__(
        self, sink: str, table: Table, log: TableLog | None, show: Show | None = None
    ) -> None:
        self._sink = sink
        self._table = table
        self._log = log
        self._show = show
        self._whole: pa.Table | None = None
        for changes in log.read() if log else ():
            self._apply(changes)

    @classmethod
    def kept_in(
        cls,
        checkpoint: str | None,
        fence: Fence,
        sink: str,
        table: Table,
        show: Show | None = None,
    ) -> TableCommitter:
        """A committer that logs the changes in the checkpoint, if there is one."""
        log = TableLog(fence.job, sink, checkpoint) if checkpoint is not None else None
        return cls(sink, table, log, show)

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Applies the changes of a batch, and passes the table on if there are any."""
        slices = [Rows.unpacked(receipt).table for receipt in sorted(filter(None, receipts))]
        changes = pa.concat_tables(slices) if slices else None
        if changes is not None:
            self._apply(changes)
        if self._log is not None:
            self._log.write(batch, changes, self._whole)
        if changes is not None and self._show is not None:
            self._show(batch, self._whole)

    def rows(self) -> list[dict[str, Any]]:
        """A copy of the table."""
        return [] if self._whole is None else python_rows(self._whole)

    def _apply(self, changes: pa.Table) -> None:
        whole = changes if self._whole is None else self._joined(self._whole, changes)
        kind = [] if self._table.kind is None else [self._table.kind]
        places = whole.select([*self._table.by, *kind]).to_pylist(maps_as_pydicts="strict")
        self._whole = whole.take(remaining_rows(places, self._table)).combine_chunks()

    def _joined(self, whole: pa.Table, changes: pa.Table) -> pa.Table:
        if whole.schema.equals(changes.schema):
            return pa.concat_tables([whole, changes])
        raise RunError(
            "MS224",
            "the rows have other columns than the table that the checkpoint has: "
            f"{', '.join(whole.column_names)}",
            fix="leave the columns as they were, or give the job another name or checkpoint",
            step=self._sink,
        )
