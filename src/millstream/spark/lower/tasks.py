"""Which task a Python stage runs for a step."""

from __future__ import annotations

from dataclasses import replace

import pyarrow as pa

from millstream.engine.rows import TIME
from millstream.lookups.files import FilesTable
from millstream.model.errors import in_step
from millstream.physical.plan import Instance, column_of
from millstream.plan.lineage import allowed_ahead
from millstream.plan.lookup import Lookup
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Function,
    KafkaSource,
    Node,
    Select,
    Sink,
    WithColumns,
    unknown_kind,
)
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.operators import to_shards
from millstream.spark.sources.loading import depth
from millstream.spark.types import arrow_of
from millstream.spark.worker.lookup_versions import VersionedTable
from millstream.spark.worker.marks import Follow
from millstream.spark.worker.tasks.call import Call
from millstream.spark.worker.tasks.decode import Decode
from millstream.spark.worker.tasks.event_time import Time
from millstream.spark.worker.tasks.load import Load
from millstream.spark.worker.tasks.look_up import LookUp
from millstream.spark.worker.tasks.pick import Pick
from millstream.spark.worker.tasks.sinks import ToSink
from millstream.spark.worker.tasks.task import Task


def task_of(lowering: Lowering, instance: Instance, last: bool) -> Task:
    """The task of a step, which notes the types of its rows, too.

    In the ``last`` Python stage, a sink's rows go to the one writer that the sink has.
    """
    with in_step(instance.node.name):
        lowering.types[instance] = lowering.types.of(instance)
    match instance.role:
        case "scatter":
            return to_shards(lowering, instance)
        case "sink" if not last:
            assert isinstance(instance.node, Sink)
            return ToSink(step=instance.node.name, schema=sink_schema(lowering, instance.node))
        case "sink" | "prepare" | "output" | "rejected":
            return Task(step=instance.node.name)
    return _run(lowering, instance)


def _run(lowering: Lowering, instance: Instance) -> Task:
    node, name = instance.node, instance.node.name
    match node:
        case KafkaSource():
            schema = arrow_of(lowering.types[instance])
            values = [f for f in schema if f.name not in node.metadata]
            return Decode(step=name, source=node, schema=pa.schema(values))
        case FilesSource():
            return Load(
                step=name,
                below=depth(node.path),
                schema=arrow_of(lowering.types[instance]),
                layout=node.layout,
                split=node.split,
                ordered=lowering.plan.is_ordered,
            )
        case Lookup():
            return _look_up(lowering, instance, node)
        case Function():
            bare = replace(node, input=Node("", node.schema))  # workers need no more of the plan
            return Call(step=name, node=bare, schema=arrow_of(lowering.types[instance]))
        case EventTime():
            follow = None if node.watermark is None else follow_of(lowering, instance, TIME)
            loaded = instance.input is not None and instance.input.node in lowering.plan.loaded
            return Time(step=name, column=node.column, unit=node.unit, follow=follow, loaded=loaded)
        case Select() | WithColumns():
            kept = {n: n for n in node.input.schema.names} if isinstance(node, WithColumns) else {}
            picked = {n: str(column_of(e, node.input)) for n, e in node.columns}
            columns = {**kept, **picked}
            return Pick(step=name, columns={n: columns[n] for n in node.schema.names})
    raise unknown_kind(node)


def _look_up(lowering: Lowering, instance: Instance, node: Lookup) -> LookUp:
    """A table in files is read here, unless a streaming job may read it again."""
    added = pa.schema([arrow_of(lowering.types[instance]).field(f.name) for _, f in node.columns])
    table, versions = node.table, None
    if isinstance(table, FilesTable):
        if lowering.versions is None:
            table = table.table(table.open().renewed())
        else:
            versions = VersionedTable(table, node.name, lowering.run, lowering.versions)
    bare = replace(node, input=Node("", node.schema), table=table, function=_no_function)
    return LookUp(step=node.name, node=bare, schema=added, job=lowering.run, versions=versions)


def _no_function(row: object) -> None:
    """A lookup calls none: its table does all."""


def follow_of(lowering: Lowering, instance: Instance, column: str) -> Follow:
    """The watermark that follows the event times of a step, which are in ``column``."""
    node = instance.node
    assert isinstance(node, EventTime)
    assert node.watermark is not None
    mark = instance.mark if instance in lowering.plan.followed else None
    return Follow(node.name, mark, column, node.watermark, allowed_ahead(node))


def sink_schema(lowering: Lowering, sink: Sink) -> pa.Schema:
    """The columns of the rows that a sink gets: those of the first part of a union.

    Another source may be lowered before the one of that part; what it sends is cast when written.
    """
    inputs = [i.input for i in lowering.plan.instances if i.node is sink]
    return arrow_of(
        next(lowering.types[i] for i in inputs if i is not None and i in lowering.types)
    )
