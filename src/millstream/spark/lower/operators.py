"""Operators on Spark: what is sent to their shards, and the stateful stage that runs them."""

from __future__ import annotations

from millstream.physical.operators import kind_of, spec_of
from millstream.physical.operators.spec import InputSpec
from millstream.physical.plan import Instance, column_of
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import KeyFunction, Port, Stateful
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import hidden
from millstream.spark.lower.lowering import Lowering
from millstream.spark.types import arrow_of, struct_of
from millstream.spark.worker.emitted import Emitted
from millstream.spark.worker.stateful_stage import Stage
from millstream.spark.worker.tasks.task import Task
from millstream.spark.worker.tasks.to_shards import ToShards


def stateful_stage(lowering: Lowering, stage: int) -> Stage:
    """The operators whose state is kept in a stage."""
    plan, splits = lowering.plan, lowering.splits
    specs = [spec_of(plan, operator, splits) for operator in plan.operators(stage)]
    later = [spec_of(plan, each, splits) for each, level in plan.levels.items() if level > stage]
    marks = frozenset(origin for spec in later for origin in spec.origins)
    return Stage(specs, lowering.labels, marks)


def to_shards(lowering: Lowering, instance: Instance) -> ToShards:
    """The task that sends the rows of an operator's port to its shards."""
    node, port = instance.node, instance.port
    assert isinstance(node, Stateful)
    assert port is not None
    return ToShards(
        step=node.name,
        spec=spec_of(lowering.plan, node, lowering.splits),
        input=_input(lowering, instance, node, port),
        labels=lowering.labels,
    )


def prepared_columns(node: Stateful, port: Port) -> dict[str, Expression]:
    """What an operator computes of each row of a port by SQL, by the names of the engine."""
    computed = node.computed(port).items()
    return {name: key for name, key in computed if isinstance(key, Expression)}


def emitted(lowering: Lowering, instance: Instance, tasks: list[Task]) -> Emitted:
    """What an operator emits under a tag, and the tasks that take it."""
    node = instance.node
    assert isinstance(node, Stateful)
    schema = arrow_of(lowering.types[instance])
    spec = spec_of(lowering.plan, node, lowering.splits)
    return Emitted(spec, str(instance.tag), schema, tasks, lowering.plan.is_ordered)


def _input(lowering: Lowering, instance: Instance, node: Stateful, port: Port) -> InputSpec:
    """Where an operator's keys and values are in the rows of a port's input."""
    assert instance.input is not None
    computed = prepared_columns(node, port)
    if instance.input.in_jvm:
        columns = {name: hidden(name) for name in computed}
    else:
        columns = {name: str(column_of(e, port.input)) for name, e in computed.items()}
    read = [tag for tag in node.tags if lowering.plan.is_read(node, tag)]
    return InputSpec(
        columns=columns,
        functions={
            name: (key, arrow_of(struct_of(f"key {key.type}")).field("key").type)
            for name, key in node.computed(port).items()
            if isinstance(key, KeyFunction)
        },
        row=port.input.schema.names if lowering.whole_rows(node) else (),
        step=node.name,
        whole=kind_of(node).whole(node, port.name, read),
        kind=kind_column(port.input),
        port=port.name,
        ordered=node.ordered,
    )
