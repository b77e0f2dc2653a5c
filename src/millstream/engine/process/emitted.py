"""What callbacks emit, as columns: held to their types column by column, where that can be done."""

from __future__ import annotations

from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.rows import from_arrow
from millstream.engine.types import arrow_type
from millstream.plan.types.schema import Schema
from millstream.reference.callbacks import TaggedOutput

_EXACT: dict[str, frozenset[type]] = {
    **dict.fromkeys(("TINYINT", "SMALLINT", "INT", "BIGINT"), frozenset({int, type(None)})),
    "DOUBLE": frozenset({float, type(None)}),
    "STRING": frozenset({str, type(None)}),
    "BOOLEAN": frozenset({bool, type(None)}),
}
"""Types of which Arrow takes exactly the Python values that rows may have."""


class EmittedColumns:
    """Makes columns of the rows of one output."""

    def __init__(self, schema: Schema) -> None:
        self._types = [(field.name, str(field.type)) for field in schema]
        self._arrow = pa.schema([(name, arrow_type(spark)) for name, spark in self._types])

    def table(self, emitted: TaggedOutput) -> pl.DataFrame:
        """The columns of all rows; an error names the first row that does not fit."""
        try:
            return self._quickly(emitted.rows)
        except (_OtherError, KeyError, pa.ArrowException, OverflowError, UnicodeError):
            rows = [emitted.checked(row) for row in emitted.rows]
            return from_arrow(pa.Table.from_pylist(rows, self._arrow))

    def _quickly(self, rows: list[dict[str, Any]]) -> pl.DataFrame:
        if sum(map(len, rows)) != len(rows) * len(self._types):
            raise _OtherError
        columns = []
        for (name, spark), arrow in zip(self._types, self._arrow.types, strict=True):
            values = [row[name] for row in rows]
            if not set(map(type, values)) <= _EXACT.get(spark, frozenset()):
                raise _OtherError
            columns.append(pa.array(values, arrow))
        return from_arrow(pa.table(columns, schema=self._arrow))


class _OtherError(Exception):
    """The rows need to be looked at one by one."""
