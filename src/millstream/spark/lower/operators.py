"""Operators on Spark: what is sent to their shards, and the stateful stage that runs them."""

from __future__ import annotations

import pyarrow as pa

from millstream.physical.operators import spec_of
from millstream.physical.operators.grouping import has_input
from millstream.physical.operators.spec import InputSpec
from millstream.physical.plan import Instance, column_of
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import KeyFunction
from millstream.plan.operators.grouping import Grouping
from millstream.plan.sql.expressions import Expression
from millstream.plan.sql.failures import sql_of
from millstream.plan.types.schema import hidden
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.row_types import arrow_of
from millstream.spark.worker.stateful_stage import Stage
from millstream.spark.worker.tasks.to_shards import ToShards


def stateful_stage(lowering: Lowering, stage: int) -> Stage:
    """The operators whose state is kept in a stage."""
    plan, splits = lowering.plan, lowering.splits
    specs = [spec_of(plan, operator, splits) for operator in plan.operators(stage)]
    later = [spec_of(plan, each, splits) for each, level in plan.levels.items() if level > stage]
    marks = frozenset(origin for spec in later for origin in spec.origins)
    return Stage(specs, lowering.labels, marks)


def to_shards(lowering: Lowering, instance: Instance) -> ToShards:
    """The task that sends the rows of an operator's input to its shards."""
    node = instance.node
    assert isinstance(node, Grouping)
    return ToShards(
        step=node.name,
        spec=spec_of(lowering.plan, node, lowering.splits),
        input=_input(lowering, instance, node),
        labels=lowering.labels,
    )


def prepared_columns(node: Grouping) -> dict[str, Expression]:
    """What an operator computes of each row, by the names that it has in the engine."""
    return {sql.name: sql.expression for sql in sql_of(node)}


def pane_form(lowering: Lowering, node: Grouping) -> tuple[list[str], list[str], pa.Schema]:
    """The keys, the aggregates and the columns of the panes of a grouping."""
    keys = [name for name, _ in node.keys]
    return keys, [name for name, _, _ in node.aggregates], arrow_of(lowering.types.panes(node))


def _input(lowering: Lowering, instance: Instance, node: Grouping) -> InputSpec:
    """Where the grouping's keys and values are in the rows of its input."""
    assert instance.input is not None
    computed = prepared_columns(node)
    if instance.input.in_jvm:
        columns = {name: hidden(name) for name in computed}
    else:
        columns = {name: str(column_of(e, node.input)) for name, e in computed.items()}
    whole = [
        f"of {i}"
        for i, (_, aggregate, inputs) in enumerate(node.aggregates)
        if inputs.of is None and has_input(aggregate, inputs)
    ]
    if lowering.plan.is_read(node, "late"):
        whole.append("row")
    return InputSpec(
        columns=columns,
        functions={
            f"key {i}": (key, arrow_of(lowering.types.panes(node)).field(name).type)
            for i, (name, key) in enumerate(node.keys)
            if isinstance(key, KeyFunction)
        },
        row=node.input.schema.names if lowering.whole_rows(node) else (),
        step=node.name,
        whole=tuple(whole),
        kind=kind_column(node.input),
    )
