"""What the batches of a replay on Spark have made of each program: panes, or rows."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from typing import Any

import polars as pl
import pyarrow as pa
from pyspark.sql import Row

from millstream.engine.operator import INDEX, LATE, REJECTED, ROWS
from millstream.engine.python_rows import python_rows
from millstream.engine.rows import to_python
from millstream.engine.state.blobs import unpacked
from millstream.model.instants import seconds
from millstream.model.panes import Pane
from millstream.physical.operators import spec_of
from millstream.physical.operators.cogroup import CogroupSpec
from millstream.physical.plan import Physical
from millstream.physical.reading import may_reject
from millstream.plan.nodes import Node, Stateful, walk
from millstream.plan.operators.cogroup import Cogroup
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.two_sides import TwoSides
from millstream.reference.elements import Late
from millstream.reference.ordering import ordering
from millstream.reference.rows import late_row
from millstream.sinks.memory import Rows as SinkRows
from millstream.spark.lower.lowering import Lowering
from millstream.spark.lower.program import Lowered
from millstream.spark.types import arrow_of
from millstream.spark.worker.envelopes import Envelope
from millstream.stream import Stream
from millstream.testing.groupings import late_of
from millstream.testing.late_elements import late_elements
from millstream.testing.panes import Panes, Rows
from millstream.testing.pipelines import replayed_row, simple_key, simple_values


class Made:
    """What a batch has made: what each operator has emitted, and the rows of each sink.

    The last Python stage of the program makes rows of sinks of panes, and keeps their order.
    """

    def __init__(self, lowering: Lowering, lowered: Lowered, rows: list[Row], number: int) -> None:
        assert lowered.last is not None
        self.lowering = lowering
        self.step = number
        self._emitted: dict[tuple[str, str | None], list[pl.DataFrame]] = {}
        self._rows: dict[str, list[dict[str, Any]]] = {}
        envelopes = [Envelope(*row) for row in rows]
        for envelope in envelopes:
            if envelope.payload is not None:
                envelope.payload = bytes(envelope.payload)
            if envelope.kind == "emit" and envelope.payload is not None:
                tables = self._emitted.setdefault((envelope.node, envelope.port), [])
                tables.append(unpacked(envelope.payload))
        for receipt in replace(lowered.last, batch=number).after(envelopes, 0):
            if receipt.kind == "receipt" and receipt.payload:
                self._rows[receipt.node] = python_rows(SinkRows.unpacked(receipt.payload).table)

    def emitted(self, operator: Node, tag: str) -> list[pl.DataFrame]:
        """What an operator has emitted under a tag."""
        return self._emitted.get((operator.name, tag), [])

    def rows(self, sink: Node) -> list[dict[str, Any]]:
        """The rows of a sink."""
        return self._rows.get(sink.name, [])

    def late(self, node: Stateful) -> Iterator[Late]:
        """What an operator found late."""
        for table in self.emitted(node, LATE):
            if isinstance(node, Cogroup):
                spec = spec_of(self.lowering.plan, node, {})
                assert isinstance(spec, CogroupSpec)
                fields = list(arrow_of(self.lowering.types.output(node, LATE)))
                schema = pa.schema(fields[: len(node.ports)])
                yield from late_elements(spec.with_row(table), node, schema)
            else:
                yield from late_elements(table, node, self._input_schema(node))

    def _input_schema(self, node: Stateful) -> pa.Schema:
        prepared, *_ = self.lowering.plan.feeding(node)
        assert prepared.input is not None
        assert prepared.input.input is not None
        return arrow_of(self.lowering.types[prepared.input.input])


class Outputs:
    """What a program gives in the query that it is part of, where its steps have other names."""

    node: Stateful
    """Its last step in the query."""
    names: dict[str, str]
    """The names of its steps there, by their own."""
    result: Any

    def __init__(self, own: Node, number: int) -> None:
        self._own = own
        stream = Stream(own)
        made = [stream.collect(f"rows {number}")]
        if any(may_reject(node) for node in walk(own)):
            made.append(stream.rejected.collect(f"rejected {number}"))
        self.sinks = [sink for each in made for sink in each.outputs]

    def find(self, plan: Physical) -> None:
        """Takes note of the program's steps in the query."""
        names = [sink.name for sink in self.sinks]
        self._rows, *self._rejected = [sink for sink in plan.sinks if sink.name in names]
        assert isinstance(self._rows.input, Stateful)
        self.node = self._rows.input
        pairs = zip(walk(self._own), walk(self.node), strict=True)
        self.names = {own.name: other.name for own, other in pairs}

    def take(self, made: Made) -> None:
        """Adds what a batch has made of the program."""
        own = {other: name for name, other in self.names.items()}
        for sink in self._rejected:
            self.result.rejected += [{**row, "step": own[row["step"]]} for row in made.rows(sink)]


class OutputsOfGrouping(Outputs):
    """The panes of a grouping; what was late there, or before it."""

    def __init__(self, own: Node, number: int) -> None:
        super().__init__(own, number)
        self.result = Panes()

    def take(self, made: Made) -> None:
        """Adds the panes of a batch."""
        super().take(made)
        tables = made.emitted(self.node, ROWS)
        emitted = [row for table in tables for row in table.iter_rows(named=True)]
        both = zip(emitted, made.rows(self._rows), strict=True)
        in_order = sorted(both, key=lambda pair: self._place(*pair))
        self.result += [self._pane(emission, row, made.step) for emission, row in in_order]
        own = {other: name for name, other in self.names.items()}
        for node in walk(self.node):
            if isinstance(node, Stateful) and LATE in node.tags:
                for late in made.late(node):
                    element = replace(late_of(late, made.step), key=simple_key(late.key))
                    self.result.late.append(replace(element, grouping=own[node.name]))

    def _key(self, row: dict[str, Any]) -> tuple[Any, ...]:
        return tuple(row[name] for name, _ in self.node.ports[0].keys)

    def _place(self, emitted: dict[str, Any], row: dict[str, Any]) -> tuple[Any, ...]:
        pane = emitted["order"], emitted["end"], emitted["start"], ordering(self._key(row))
        return *pane, emitted.get(INDEX), emitted["sign"], emitted["of_start"], emitted["of_end"]

    def _pane(self, emitted: dict[str, Any], row: dict[str, Any], step: int) -> Pane:
        assert isinstance(self.node, Grouping)
        values = tuple(row[name] for name, _, _ in self.node.aggregates)
        return Pane(
            key=simple_key(self._key(row)),
            window=(seconds(emitted["of_start"]), seconds(emitted["of_end"])),
            values=simple_values(self.node, values),
            timing=emitted["timing"],
            index=emitted["index"],
            first=emitted["first"],
            last=emitted["last"],
            kind="-" if emitted["sign"] < 0 else "+",
            step=step,
            timestamp=seconds(emitted["timestamp"]),
            window_index=emitted.get(INDEX),
        )


class OutputsOfRows(Outputs):
    """The rows of a processor or a join, with those of its side outputs."""

    def __init__(self, own: Node, number: int) -> None:
        super().__init__(own, number)
        self.result = Rows()

    def find(self, plan: Physical) -> None:
        """Takes note of the operator, too."""
        super().find(plan)
        self._spec = spec_of(plan, self.node, {})

    def take(self, made: Made) -> None:
        """Adds the rows of a batch."""
        super().take(made)
        for tag in (ROWS, *self.node.tags):
            if tag not in (LATE, REJECTED):
                found = self.result if tag == ROWS else self.result.outputs.setdefault(tag, [])
                for table in made.emitted(self.node, tag):
                    rows = to_python(_shown(self._spec.rows(tag, table), self.node))
                    found += [replayed_row(row, made.step) for row in rows]
        if LATE in self.node.tags:
            if isinstance(self.node, TwoSides):
                tables = made.emitted(self.node, LATE)
                late = [row for table in tables for row in to_python(self._spec.rows(LATE, table))]
            else:
                late = [late_row(each) for each in made.late(self.node)]
            self.result.late += [replayed_row(row, made.step) for row in late]


def _shown(rows: pl.DataFrame, node: Stateful) -> pl.DataFrame:
    """Without the column that marks retractions, where there are none."""
    return rows if node.retracts or node.schema.find("kind") else rows.drop("kind", strict=False)


def outputs_of(node: Stateful, number: int) -> Outputs:
    """What a program gives, as the ``number``-th of those that share a query."""
    kind = OutputsOfGrouping if isinstance(node, Grouping) else OutputsOfRows
    return kind(node, number)
