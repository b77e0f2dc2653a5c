"""The sink that keeps rows: a receipt contains the rows, and the driver returns them."""

from __future__ import annotations

import struct
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import pyarrow as pa

from millstream.engine.python_rows import python_rows
from millstream.plan.targets import Memory
from millstream.sinks.fence import NO_FENCE, Fence
from millstream.sinks.protocol import Committer, SinkKind
from millstream.sinks.slices import Slice

# The slice is first, with its highest byte first: so receipts sort in the order of slices.
_HEAD = struct.Struct(">QQ")


class MemorySink(SinkKind[Memory]):
    """Rows that the job keeps, for ``collect``."""

    shown = True

    def writer(self, slice: Slice) -> MemoryWriter:
        """Collects the rows of a slice."""
        return MemoryWriter(slice)

    def committer(self, fence: Fence = NO_FENCE, checkpoint: str | None = None) -> Committer:
        """Keeps the rows, or the result table that they change."""
        if self.target.table is None:
            return MemoryCommitter()
        from millstream.sinks.whole_table import TableCommitter

        return TableCommitter.kept_in(checkpoint, fence, self.name, self.target.table)


@dataclass(frozen=True, slots=True)
class Rows:
    """The rows of a slice, or the first of them, and their number."""

    slice: int
    count: int
    table: pa.Table

    def packed(self) -> bytes:
        """The rows as a receipt: Arrow's IPC format after the numbers."""
        sink = pa.BufferOutputStream()
        options = pa.ipc.IpcWriteOptions(compression="zstd")
        with pa.ipc.new_stream(sink, self.table.schema, options=options) as stream:
            stream.write_table(self.table)
        packed: bytes = sink.getvalue().to_pybytes()
        return _HEAD.pack(self.slice, self.count) + packed

    @classmethod
    def unpacked(cls, receipt: bytes) -> Rows:
        """The rows that ``packed`` made a receipt of."""
        with pa.ipc.open_stream(pa.py_buffer(receipt)[_HEAD.size :]) as stream:
            slice, count = _HEAD.unpack_from(receipt)
            return cls(slice, count, stream.read_all())


class MemoryWriter:
    """Collects the rows of a slice, of more than ``limit`` only the first."""

    def __init__(self, slice: Slice, limit: int | None = None) -> None:
        self._slice = slice
        self._limit = limit
        self._count = 0
        self._kept = 0
        self._tables: list[pa.Table] = []

    def write(self, rows: pa.Table) -> None:
        """Keeps the rows, up to the limit."""
        self._count += rows.num_rows
        if self._limit is not None:
            rows = rows.slice(0, self._limit - self._kept)
        self._kept += rows.num_rows
        if rows.num_rows or not self._tables:  # the first has the columns, even without a row
            self._tables.append(rows)

    def close(self) -> bytes:
        """The rows."""
        if not self._count:
            return b""
        return Rows(self._slice.number, self._count, pa.concat_tables(self._tables)).packed()

    def abort(self) -> None:
        """Forgets the rows."""
        self._tables.clear()


class MemoryCommitter:
    """Keeps the rows of each batch, compressed; those of a retried batch replace its first."""

    def __init__(self) -> None:
        self._batches: dict[int, list[bytes]] = {}

    def commit(self, run: str, batch: int, receipts: Sequence[bytes]) -> None:
        """Keeps the rows of a batch."""
        self._batches[batch] = sorted(filter(None, receipts))

    def rows(self) -> list[dict[str, Any]]:
        """A copy of all rows so far, by batch and slice."""
        return [
            row
            for _, receipts in sorted(self._batches.items())
            for receipt in receipts
            for row in python_rows(Rows.unpacked(receipt).table)
        ]
