"""Builds the step that answers the four questions, and has it checked."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from millstream.model.aggregates import Aggregate, Collect, Combine, Count, Top
from millstream.model.errors import PlanError, in_step
from millstream.plan.build.functions import function_name
from millstream.plan.checks import check_windowed
from millstream.plan.checks.attribute_types import checked_attribute
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Filter, Node, Port, SideOutput, Stateful
from millstream.plan.operators.cogroup import Cogroup
from millstream.plan.operators.grouping import AggregateInputs, Grouping
from millstream.plan.operators.two_sides import TwoSides
from millstream.plan.operators.windowed import WINDOW, Windowed, pane_fields, window_field
from millstream.plan.settings import Settings
from millstream.plan.sql.expressions import scalar
from millstream.plan.types.result_types import result_type
from millstream.plan.types.schema import Field, Schema, quoted

REASON = Field("reason", "STRING")


def grouping(input: Node, settings: Settings, aggregates: Mapping[str, Any]) -> Grouping:
    """The checked grouping of ``input`` by key and window."""
    step = automatic_name("aggregate", input)
    with in_step(step):
        checked = tuple(
            (name, _aggregate(name, given), _inputs(name, given, input.schema))
            for name, given in aggregates.items()
        )
        schema = Schema(_fields(input, settings, checked))
        attribute = checked_attribute(settings.windowing.where, input.schema)
    port = Port("rows", input, settings.keys)
    node = Grouping(step, schema, (port,), settings.windowing, checked, attribute)
    check_windowed(node)
    return node


def late(input: Node) -> SideOutput:
    """What an operator found late."""
    if isinstance(input, Filter) and isinstance(input.input, Cogroup):
        input = input.input  # the filter may be a further condition of a join
    if not isinstance(input, Stateful) or "late" not in input.tags:
        raise PlanError(
            "MS117",
            f"{input.name!r} is no grouping, join or processor, and only these find rows late",
            fix="take .late of the stream that aggregate(…), group(), join(…) or process(…) "
            "returned",
            step=input.name,
        )
    step = automatic_name("late", input)
    with in_step(step):
        return SideOutput(step, _late_schema(input), input, "late")


def _late_schema(node: Stateful) -> Schema:
    """The columns of late rows: the input's columns, the window and why it was too late."""
    if isinstance(node, TwoSides):
        return node.late_schema
    schema = node.rows_of_ports if isinstance(node, Cogroup) else node.inputs[0].schema
    window = window_field(node.windowing) if isinstance(node, Windowed) else WINDOW
    for added in (window, REASON):
        own = schema.find(added.name)
        if own is not None:
            name = quoted(own.name)
            raise PlanError(
                "MS108",
                f"late rows have a column {own.name!r} of their own, and .late adds one: "
                + ("the window that they came too late for" if added is window else "the reason"),
                fix=f"rename yours before {node.name!r}: "
                f".with_columns({name}_2={name!r}).drop({own.name!r}), "
                f"or leave it out: .drop({own.name!r})",
            )
    return Schema((*schema, window, REASON))


def _aggregate(name: str, given: Any) -> Aggregate:
    if isinstance(given, Aggregate):
        return given
    raise PlanError(
        "MS113",
        f"{name}={function_name(given) if callable(given) else repr(given)} is no aggregate",
        fix=f"write {name}=ms.sum('points'), say",
    )


def _inputs(name: str, aggregate: Aggregate, schema: Schema) -> AggregateInputs:
    by = aggregate.by if isinstance(aggregate, Top) else None
    if aggregate.of is None and not isinstance(aggregate, Count | Collect | Top | Combine):
        instead = f"ms.{aggregate.name}('points')"
        raise _incomplete(name, f"{aggregate.name}() of nothing", instead)
    if by is None and isinstance(aggregate, Top):
        raise _incomplete(name, f"{aggregate!r} has no order", "ms.top(3, by='points')")
    return AggregateInputs(
        None if aggregate.of is None else scalar(aggregate.of, schema),
        None if by is None else scalar(by, schema),
    )


def _incomplete(name: str, what: str, instead: str) -> PlanError:
    return PlanError("MS113", f"{name}: {what}", fix=f"write {name}={instead}, say")


def _fields(
    input: Node,
    settings: Settings,
    aggregates: tuple[tuple[str, Aggregate, AggregateInputs], ...],
) -> tuple[Field, ...]:
    schema = input.schema
    if not aggregates:
        raise PlanError(
            "MS113", "there is nothing to aggregate", fix="write aggregate(total=ms.sum('points'))"
        )
    fields = [
        *(Field(name, key.type) for name, key in settings.keys),
        *(Field(n, result_type(a, inputs, schema)) for n, a, inputs in aggregates),
    ]
    own = pane_fields(settings.windowing)
    check_column_names([field.name for field in fields], own=[field.name for field in own])
    return (*fields, *own)
