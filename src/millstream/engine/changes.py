"""The changes of each key in columns: rows whose values differ from those of the row before."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence

import polars as pl

from millstream.engine.operator import BY_KEY, ROWS, Advance, Outputs, Stepped, Tables
from millstream.engine.row_order import ORDER, in_row_order
from millstream.engine.tables import concatenated


class Changes:
    """Keeps the ``values`` of each key's last row, in the table ``last``.

    A batch has the keys, the values, and the columns of ``ORDER``; what else it has is passed on.
    It changes nothing before or behind the watermark: a late row is compared with the last one that
    arrived, as any other.
    """

    order = ORDER
    bucket = BY_KEY
    deferral = None

    def __init__(self, keys: Sequence[str], values: Sequence[str]) -> None:
        self._keys = [*BY_KEY, *keys]
        self._values = list(values)

    def step(
        self, tables: Tables, batches: Mapping[str, pl.DataFrame], advance: Advance
    ) -> Stepped:
        """The rows of a batch that are changes; the last row of each key is kept."""
        outputs: Outputs = defaultdict(list)
        batch = batches.get(ROWS)
        if batch is None or not batch.height:
            return Stepped(tables, outputs, {})
        arrived = in_row_order(batch).with_columns(new=pl.lit(True))
        last = tables.get("last")
        rows = concatenated(None if last is None else last.with_columns(new=False), arrived)
        assert rows is not None
        values = pl.struct(self._values)
        is_first = pl.int_range(pl.len()).over(self._keys) == 0
        before = values.shift(1).over(self._keys)
        changed = rows.filter(pl.col("new") & (is_first | values.ne_missing(before)))
        outputs[ROWS].append(changed.drop("new"))
        kept = rows.select(*self._keys, *self._values)
        last = kept.group_by(self._keys, maintain_order=True).last()
        return Stepped({"last": last}, outputs, {})
