"""What a Python stage has made of a partition: rows and envelopes, in the order they were made."""

from __future__ import annotations

from collections.abc import Iterator

import pyarrow as pa

from millstream.engine.rows import SPLIT
from millstream.spark.worker.envelopes import ARROW, Envelope, batches_of


class Output:
    """Rows and envelopes on their way to the next stage, as record batches of one schema.

    ``split`` is the split that all of them belong to, if each split is a slice of its own.
    """

    def __init__(self, schema: pa.Schema) -> None:
        self.split: str | None = None
        self._schema = schema
        self._envelopes: list[Envelope] = []
        self._tables: list[pa.Table | pa.RecordBatch] = []

    def send(self, envelope: Envelope) -> None:
        self._envelopes.append(envelope)

    def add(self, rows: pa.Table) -> None:
        """Adds rows, after the envelopes that were sent before."""
        self._close()
        self._tables.append(rows)

    def envelopes(self) -> list[Envelope]:
        """Takes the envelopes that were sent since the last time."""
        sent, self._envelopes = self._envelopes, []
        return sent

    def batches(self) -> Iterator[pa.RecordBatch]:
        """Takes all that was made since the last time."""
        self._close()
        made, self._tables = self._tables, []
        for table in made:
            yield from table.to_batches() if isinstance(table, pa.Table) else [table]

    def _close(self) -> None:
        for batch in batches_of(self.envelopes()):
            known = {name: batch.column(name) for name in ARROW.names}
            if self.split is not None:
                known[SPLIT] = pa.repeat(self.split, batch.num_rows)
            columns = [
                known[f.name] if f.name in known else pa.nulls(batch.num_rows, f.type)
                for f in self._schema
            ]
            self._tables.append(pa.RecordBatch.from_arrays(columns, schema=self._schema))
