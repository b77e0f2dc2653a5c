"""A grouping as workers run it."""

from __future__ import annotations

from collections.abc import Container, Mapping
from dataclasses import dataclass, replace
from typing import Any

import polars as pl

from millstream.engine.exchange.scatter import Scatter
from millstream.engine.grouping.operator import Grouping, sharded
from millstream.engine.grouping.tables import Aggregated
from millstream.engine.operator import LATE, ROWS
from millstream.engine.rows import late_rows, pane_rows
from millstream.model.aggregates import Aggregate
from millstream.model.refinements import retracting
from millstream.model.windowing import Windowing
from millstream.physical.operators.spec import OperatorSpec, PortTypes
from millstream.plan.build.grouping import REASON
from millstream.plan.lineage import taking_back
from millstream.plan.operators import grouping as plan
from millstream.plan.operators.windowed import window_field
from millstream.plan.types.result_types import result_type
from millstream.plan.types.schema import Field, Schema


@dataclass(frozen=True, kw_only=True)
class GroupingSpec(OperatorSpec[Grouping]):
    """A grouping. In the engine, an aggregate's input is ``of 0`` or ``by 0``, its result
    ``value 0``.
    """

    windowing: Windowing
    aggregates: tuple[tuple[str, Aggregate, bool, bool], ...]
    takes_retractions: bool

    @classmethod
    def settings(cls, node: plan.Grouping) -> dict[str, Any]:
        return {
            "windowing": node.windowing,
            "aggregates": tuple(
                (name, _as_text(aggregate, inputs), has_input(aggregate, inputs), bool(inputs.by))
                for name, aggregate, inputs in node.aggregates
            ),
            "takes_retractions": taking_back(node.input) is not None,
        }

    @classmethod
    def output_schema(cls, node: plan.Grouping, tag: str, ports: Mapping[str, PortTypes]) -> Schema:
        (types,) = ports.values()
        if tag == LATE:
            return Schema((*types.rows, window_field(node.windowing), REASON))
        found: dict[str, str | None]
        found = {name: types.computed[f"key {i}"] for i, (name, _) in enumerate(node.keys)}
        for i, (name, aggregate, inputs) in enumerate(node.aggregates):
            of = inputs.of
            if of is not None and of.type is None:
                of = replace(of, type=types.computed[f"of {i}"])
            found[name] = result_type(aggregate, replace(inputs, of=of), types.rows)
        return Schema(tuple(Field(f.name, f.type or found[f.name]) for f in node.schema))

    @classmethod
    def whole(cls, node: plan.Grouping, port: str, tags: Container[str]) -> tuple[str, ...]:
        values = (
            f"of {i}"
            for i, (_, aggregate, inputs) in enumerate(node.aggregates)
            if inputs.of is None and has_input(aggregate, inputs)
        )
        return (*values, *(["row"] if LATE in tags else []))

    def made(self) -> Grouping:
        aggregated = [
            Aggregated(
                f"value {i}", aggregate, f"of {i}" if of else None, f"by {i}" if by else None
            )
            for i, (_, aggregate, of, by) in enumerate(self.aggregates)
        ]
        keeps_late = LATE in self.tags
        return sharded(
            self.windowing, self.engine_keys, aggregated, self.takes_retractions, keeps_late
        )

    def exchange(self, port: str, shards: int) -> Scatter:
        """Combines rows by key and window before they are sent, where that can be done."""
        return Scatter(self.operator, self.engine_keys, shards)

    @property
    def sends(self) -> str:
        """Panes that are begun before the shuffle, or the rows."""
        compiled = self.operator.compiled
        place = "window" if compiled.slices is None else "slice"
        return f"combined by key and {place}, then" if compiled.combines else "each row"

    @property
    def holds(self) -> str:
        """Panes, and what their results are made of."""
        shares = self.operator.compiled.slices is not None
        holds = ["a row for each key and slice"] if shares else ["a row for each key and window"]
        holds += ["their elements"] if self.operator.compiled.results.keeps_elements else []
        holds += ["what was emitted"] if self.windowing.refine is retracting else []
        holds += ["the place of each key in its windows"] if self.windowing.where.ordered else []
        return ", ".join(holds)

    def rows(self, tag: str, table: pl.DataFrame) -> pl.DataFrame:
        """Panes, or rows that were late."""
        names = [name for name, _, _, _ in self.aggregates]
        return pane_rows(table, list(self.keys[ROWS]), names) if tag == ROWS else late_rows(table)


def _as_text(aggregate: Aggregate, inputs: plan.AggregateInputs) -> Aggregate:
    """The aggregate with text in place of PySpark's Columns, which only the driver can have."""
    columns = {"of": inputs.of, "by": inputs.by}
    return replace(
        aggregate, **{n: e.text for n, e in columns.items() if e and e.column is not None}
    )


def has_input(aggregate: Aggregate, inputs: plan.AggregateInputs) -> bool:
    """Whether the aggregate reads a value: of an expression, or the whole row."""
    return inputs.of is not None or aggregate.name != "count"
