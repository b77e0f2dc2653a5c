"""What operators emit, as it arrives in the Python stage after them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import polars as pl
import pyarrow as pa

from millstream.engine.rows import SIGN, TIME, from_arrow, with_places
from millstream.physical.operators.spec import OperatorSpec
from millstream.spark.worker.envelopes import Envelope
from millstream.spark.worker.tasks.task import Task


@dataclass(frozen=True)
class Emitted:
    """The rows of an operator under a tag: their columns, and the tasks that take them."""

    spec: OperatorSpec[Any]
    tag: str
    schema: pa.Schema
    tasks: list[Task]
    ordered: bool
    """Whether rows get their places."""

    def rows(self, envelope: Envelope) -> pl.DataFrame:
        """The rows, in the types that Spark expects: a batch may suggest others."""
        rows = self.spec.rows(self.tag, envelope.table())
        types = from_arrow(self.schema.empty_table()).schema
        rows = rows.select(*(pl.col(n).cast(t) for n, t in types.items()), TIME, SIGN)
        return with_places(rows, self.spec.name, envelope.split or "") if self.ordered else rows
