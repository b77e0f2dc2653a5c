"""The types of the rows that steps give: those of the plan where it knows them, else Spark's."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pyarrow as pa
from pyspark.errors import PySparkTypeError
from pyspark.sql.pandas.types import to_arrow_schema
from pyspark.sql.types import DataType, StructField, StructType

from millstream.model.errors import PlanError
from millstream.physical.plan import Instance, Physical, column_of
from millstream.plan.build.frames import type_text
from millstream.plan.build.grouping import REASON
from millstream.plan.build.steps import REJECTED
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    Function,
    KafkaSource,
    Select,
    Sink,
    WithColumns,
    unknown_kind,
)
from millstream.plan.operators.grouping import WINDOW, Grouping
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.ddl import read_type
from millstream.plan.types.result_types import result_type
from millstream.plan.types.schema import Field, Schema, hidden


class RowTypes(dict[Instance, StructType]):
    """The columns that each step gives, as far as they are known."""

    def __init__(self, plan: Physical) -> None:
        self._plan = plan
        self._panes: dict[Grouping, StructType] = {}

    def of(self, instance: Instance) -> StructType:
        """The columns that a step gives, of those before it."""
        node = instance.node
        match instance.role:
            case "output" if instance.tag == "rows":
                assert isinstance(node, Grouping)
                return self.panes(node)
            case "output":
                assert isinstance(node, Grouping)
                rows = self[_fed_by(self._plan, node)]
                added = struct_of(str(Schema((WINDOW, REASON))))
                return StructType([*rows.fields, *added.fields])
            case "rejected":
                return struct_of(str(REJECTED))
            case _ if isinstance(node, KafkaSource | FilesSource | Function):
                return struct_of(str(node.schema))
        assert instance.input is not None
        before = self[instance.input]
        if isinstance(node, Select | WithColumns):
            picked = {n: before[str(column_of(e, node.input))].dataType for n, e in node.columns}
            kept = {f.name: f.dataType for f in before} if isinstance(node, WithColumns) else {}
            types = {**kept, **picked}
            return StructType([StructField(n, types[n]) for n in node.schema.names])
        if isinstance(node, EventTime | Filter | Grouping | Sink):
            return before
        raise unknown_kind(node)

    def panes(self, node: Grouping) -> StructType:
        """The columns of the panes of a grouping."""
        if node not in self._panes:
            self._panes[node] = struct_of(str(self._pane_schema(node)))
        return self._panes[node]

    def _pane_schema(self, node: Grouping) -> Schema:
        prepared = next(i for i in self._plan.instances if i.node is node and i.role == "prepare")
        found = {f.name: read_type(type_text(f.dataType)) for f in self[prepared]}
        keys = {
            name: self._key_type(i, name, key, node, prepared, found)
            for i, (name, key) in enumerate(node.keys)
        }
        values = {}
        for i, (name, aggregate, inputs) in enumerate(node.aggregates):
            of = inputs.of
            if of is not None and of.type is None:
                of = replace(of, type=self._found(f"of {i}", of, node, prepared, found))
            # Where whole rows are needed, all of their columns are there.
            fields = (Field(f.name, f.type or found.get(f.name)) for f in node.input.schema)
            schema = Schema(tuple(fields))
            values[name] = result_type(aggregate, replace(inputs, of=of), schema)
        types = {**keys, **values}
        return Schema(tuple(Field(f.name, f.type or types[f.name]) for f in node.schema))

    def _found(
        self, engine: str, e: Expression, node: Grouping, at: Instance, found: dict[str, str]
    ) -> str:
        return found[hidden(engine) if at.in_jvm else str(column_of(e, node.input))]

    def _key_type(
        self, i: int, name: str, key: Any, node: Grouping, at: Instance, found: dict[str, str]
    ) -> str:
        known = node.schema.resolve(name).type
        if known is not None:
            return known
        assert isinstance(key, Expression)  # a function says its type
        return self._found(f"key {i}", key, node, at, found)


def _fed_by(plan: Physical, node: Grouping) -> Instance:
    prepared = next(i for i in plan.instances if i.node is node and i.role == "prepare")
    assert prepared.input is not None
    return prepared.input


def struct_of(ddl: str) -> StructType:
    """The types that a DDL text says."""
    struct = DataType.fromDDL(ddl)
    assert isinstance(struct, StructType)
    return struct


def arrow_of(struct: StructType) -> pa.Schema:
    """The same for Arrow."""
    return pa.schema([_arrow_field(field) for field in struct.fields])


def _arrow_field(field: StructField) -> pa.Field:
    try:
        return to_arrow_schema(StructType([field]), timezone="UTC").field(0)
    except PySparkTypeError:
        raise PlanError(
            "MS125",
            f"column {field.name!r} is {type_text(field.dataType).upper()}, which Python does not "
            "have",
            fix=f"convert it before: CAST({field.name} AS STRING), or drop it",
        ) from None
