"""The changes of each key as workers find them."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from millstream.engine.changes import Changes
from millstream.engine.exchange.by_key import ByKey
from millstream.engine.rows import emitted_rows
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.plan.operators import changes as plan
from millstream.plan.types.schema import Schema


@dataclass(frozen=True, kw_only=True)
class ChangesSpec(OperatorSpec[Changes]):
    """In the engine, a column that is compared is called ``of 0``."""

    columns: int

    @classmethod
    def settings(cls, node: plan.Changes) -> dict[str, Any]:
        return {"columns": len(node.columns)}

    @classmethod
    def output_schema(cls, node: plan.Changes, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        (types,) = ports.values()
        return types.rows

    @classmethod
    def whole(cls, node: plan.Changes, port: str, tags: Container[str]) -> tuple[str, ...]:
        return ("row",)

    def made(self) -> Changes:
        return Changes(self.engine_keys, [f"of {i}" for i in range(self.columns)])

    def exchange(self, port: str, shards: int) -> ByKey:
        """Rows as they are."""
        return ByKey(self.engine_keys, shards, port)

    @property
    def sends(self) -> str:
        """The rows."""
        return "each row"

    @property
    def holds(self) -> str:
        """What rows are compared with."""
        return "the last row of each key, in the columns watched"

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """The rows as they arrived."""
        return emitted_rows(table)
