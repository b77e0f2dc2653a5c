"""Drives a processor on the columnar engine as an interpreter does: rows in, rows out."""

from __future__ import annotations

import polars as pl
import pyarrow as pa

from millstream.engine.operator import LATE
from millstream.engine.rows import to_python
from millstream.engine.types import arrow_type
from millstream.plan.operators.process import Process
from millstream.reference.rows import Row, late_row
from millstream.testing.columnar_operator import ColumnarOperator
from millstream.testing.late_elements import late_elements


class ColumnarProcess(ColumnarOperator):
    """A processor on the columnar engine, whose late rows know the elements that they are."""

    def __init__(self, node: Process) -> None:
        super().__init__(node)
        self._row = pa.schema([(f.name, arrow_type(str(f.type))) for f in node.input.schema])

    def rows(self, tag: str, table: pl.DataFrame) -> list[Row]:
        """What callbacks emitted, or late rows."""
        if tag == LATE:
            return [late_row(late) for late in late_elements(table, self.node, self._row)]
        return to_python(self.spec.rows(tag, table))
