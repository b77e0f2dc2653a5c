"""A program on its way to Spark: what every part of its lowering needs to know."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from functools import cached_property

from pyspark.sql.types import StructType

from millstream.physical.plan import Physical
from millstream.plan.nodes import Node, Stateful
from millstream.spark.lower.row_types import RowTypes
from millstream.spark.lower.sql_listing import Listing
from millstream.spark.types import struct_of
from millstream.spark.worker.batch_clock import Moment
from millstream.spark.worker.envelopes import ENVELOPE


@dataclass(frozen=True, kw_only=True)
class Lowering:
    """A physical plan, the job that runs it, and the types of its rows as far as they are known."""

    plan: Physical
    labels: list[int]
    """The names of the shards."""
    run: str
    """The id of the job's life."""
    owner: str = ""
    """The process that owns the job's checkpoint."""
    ending: bool
    """Whether bounded sources report their end to operators."""
    splits: Mapping[str, list[str]] = field(default_factory=dict)
    """The splits that sources are known to have."""
    versions: str | None = None
    """The checkpoint with the versions of tables that are looked up in, if there are several."""
    only: Moment | None = None
    """The number and clock of the only batch, where Spark does not number them."""

    @cached_property
    def types(self) -> RowTypes:
        """The types of the rows of each step; they are found step by step."""
        return RowTypes(self.plan)

    @cached_property
    def listing(self) -> Listing:
        """All SQL of the program."""
        return Listing(instance.node for instance in self.plan.instances)

    @cached_property
    def envelope(self) -> StructType:
        """The columns of envelopes."""
        return struct_of(ENVELOPE)

    def whole_rows(self, node: Node) -> bool:
        """Whether a step is an operator that needs whole rows, not just computed columns."""
        return isinstance(node, Stateful) and (
            node.needs_whole_rows or any(self.plan.is_read(node, tag) for tag in node.tags)
        )
