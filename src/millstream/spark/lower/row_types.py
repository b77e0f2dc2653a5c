"""The types of the rows that steps give: those of the plan where it knows them, else Spark's."""

from __future__ import annotations

from pyspark.sql.types import StructField, StructType

from millstream.physical.operators import output_schema
from millstream.physical.operators.spec import PortTypes
from millstream.physical.plan import Instance, Physical, column_of
from millstream.plan.build.frames import type_text
from millstream.plan.build.steps import REJECTED
from millstream.plan.lookup import Lookup
from millstream.plan.nodes import (
    EventTime,
    FilesSource,
    Filter,
    Function,
    KafkaSource,
    Port,
    Select,
    Sink,
    Stateful,
    WithColumns,
    unknown_kind,
)
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.ddl import read_type
from millstream.plan.types.schema import Field, Schema, hidden
from millstream.spark.types import struct_of


class RowTypes(dict[Instance, StructType]):
    """The columns that each step gives, as far as they are known."""

    def __init__(self, plan: Physical) -> None:
        self._plan = plan
        self._outputs: dict[tuple[Stateful, str], StructType] = {}

    def of(self, instance: Instance) -> StructType:
        """The columns that a step gives, of those before it."""
        node = instance.node
        match instance.role:
            case "output":
                assert isinstance(node, Stateful)
                return self.output(node, str(instance.tag))
            case "rejected":
                return struct_of(str(REJECTED))
            case _ if isinstance(node, KafkaSource | FilesSource | Function) and not (
                isinstance(node, Lookup)
            ):
                return struct_of(str(node.schema))
        assert instance.input is not None
        before = self[instance.input]
        if isinstance(node, Lookup):
            added = struct_of(str(Schema(tuple(field for _, field in node.columns))))
            return StructType([*before.fields, *added.fields])
        if isinstance(node, Select | WithColumns):
            picked = {n: before[str(column_of(e, node.input))].dataType for n, e in node.columns}
            kept = {f.name: f.dataType for f in before} if isinstance(node, WithColumns) else {}
            types = {**kept, **picked}
            return StructType([StructField(n, types[n]) for n in node.schema.names])
        if isinstance(node, EventTime | Filter | Stateful | Sink):
            return before
        raise unknown_kind(node)

    def output(self, node: Stateful, tag: str) -> StructType:
        """The columns of what an operator emits under a tag."""
        if (node, tag) not in self._outputs:
            ports = {port.name: self._port(node, port) for port in node.ports}
            self._outputs[node, tag] = struct_of(str(output_schema(node, tag, ports)))
        return self._outputs[node, tag]

    def _port(self, node: Stateful, port: Port) -> PortTypes:
        """The types of a port's rows, and of what is computed of them."""
        prepared = next(
            i
            for i in self._plan.instances
            if i.node is node and i.role == "prepare" and i.port is port
        )
        assert prepared.input is not None
        computed = {}
        for name, key in node.computed(port).items():
            if key.type is not None:
                computed[name] = key.type
            else:
                assert isinstance(key, Expression)  # a function has a type
                column = hidden(name) if prepared.in_jvm else str(column_of(key, port.input))
                computed[name] = _text(self[prepared][column])
        fields = tuple(Field(f.name, _text(f)) for f in self[prepared.input])
        return PortTypes(Schema(fields), computed)


def _text(field: StructField) -> str:
    return read_type(type_text(field.dataType))
