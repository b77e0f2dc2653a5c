"""Late rows of the columnar engine as elements, as the reference has them."""

from __future__ import annotations

from collections.abc import Iterator

import polars as pl
import pyarrow as pa

from millstream.engine.operator import INDEX
from millstream.engine.python_rows import python_rows
from millstream.engine.rows import to_arrow
from millstream.model.windows import Interval
from millstream.plan.nodes import Stateful
from millstream.reference.elements import Element, Late


def late_elements(table: pl.DataFrame, node: Stateful, schema: pa.Schema) -> Iterator[Late]:
    """What an operator found late; ``schema`` has the columns of its input."""
    keys = [f"key {i}" for i in range(len(node.ports[0].keys))]
    index = [INDEX] if INDEX in table.columns else []
    rows = python_rows(to_arrow(table.select(pl.col("row").struct.unnest()), schema))
    columns = [*keys, "time", "sign", "start", "end", "late", *index]
    for each, row in zip(python_rows(table.select(columns).to_arrow()), rows, strict=True):
        bounds = each["start"], each["end"], each.get(INDEX)
        window = None if each["start"] is None else Interval(*bounds)
        element = Element(row, each["time"], "+" if each["sign"] > 0 else "-")
        yield Late(tuple(each[key] for key in keys), element, window, each["late"])
