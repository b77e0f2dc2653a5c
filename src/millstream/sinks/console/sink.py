"""The sink that prints to standard output: a small table for each batch with rows."""

from __future__ import annotations

from collections.abc import Sequence
from functools import partial

import pyarrow as pa
from rich.console import Console as Terminal
from rich.text import Text

from millstream.model.amounts import counted
from millstream.plan.targets import Console, Memory, Target
from millstream.sinks.console.cells import columns_of
from millstream.sinks.console.table import fitting
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.memory import MemoryWriter, Rows
from millstream.sinks.protocol import Committer, SinkKind
from millstream.sinks.slices import Slice


class ConsoleSink(SinkKind[Console]):
    """Standard output, for ``write_console``."""

    shown = True

    def opened(self) -> Target:
        """For a result table, tasks only send the changes to the driver."""
        return self.target if self.target.table is None else Memory()

    def writer(self, slice: Slice) -> MemoryWriter:
        """Keeps the rows that will be printed."""
        return MemoryWriter(slice, self.target.limit)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> Committer:
        """Prints the rows, or the result table that they change."""
        limit, retracts, table = self.target.limit, self.target.retracts, self.target.table
        if table is None:
            return ConsoleCommitter(self.name, limit, retracts)
        from millstream.sinks.whole_table import TableCommitter

        show = partial(_print_table, self.name, limit, retracts)
        return TableCommitter.kept_in(checkpoint, fence, self.name, table, show)


class ConsoleCommitter:
    """Prints the first rows of each batch, once, and how many more there were."""

    def __init__(self, sink: str, limit: int, retracts: bool) -> None:
        self._sink = sink
        self._limit = limit
        self._retracts = retracts
        self._printed: tuple[str, int] | None = None

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Prints a batch, if it has rows."""
        slices = [Rows.unpacked(receipt) for receipt in sorted(filter(None, receipts))]
        if slices and self._printed != (run, batch):
            first = pa.concat_tables(each.table for each in slices).slice(0, self._limit)
            count = sum(each.count for each in slices)
            _print(self._sink, self._retracts, batch, first, count)
        self._printed = run, batch


def _print_table(sink: str, limit: int, retracts: bool, batch: int, table: pa.Table) -> None:
    """Prints the first rows of a whole table, after the batch that has changed it."""
    _print(sink, retracts, batch, table.slice(0, limit), table.num_rows)


def _print(sink: str, retracts: bool, batch: int, rows: pa.Table, count: int) -> None:
    console = Terminal(highlight=False, force_jupyter=False)
    with console.capture() as captured:
        console.print(Text.assemble((sink, "bold"), (f" · batch {batch}", "dim")))
        console.print(fitting(columns_of(rows, retracts), console))
        more = count - rows.num_rows
        if more:
            console.print(Text(f"… and {counted(more, 'more row')}", "dim"))
    # Rich fills each line with spaces, which a file or a pipe does not need.
    lines = [line.rstrip() for line in captured.get().rstrip().splitlines()]
    print(*lines, "", sep="\n", flush=True)
