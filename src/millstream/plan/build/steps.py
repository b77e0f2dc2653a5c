"""Builds the steps of a program, each checked and named; the grouping has a file of its own."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Literal

from millstream.model.errors import PlanError, in_step
from millstream.plan.build.functions import (
    checked_function,
    checked_on_error,
    result_schema,
)
from millstream.plan.checks.column_names import check_column_names
from millstream.plan.checks.event_time import checked_event_time, checked_unit, checked_watermark
from millstream.plan.checks.file_columns import check_writable
from millstream.plan.checks.missing_watermark import check_splits_are_followed
from millstream.plan.checks.retractions import (
    check_batches,
    check_kind_is_kept,
    check_sink,
    check_united,
)
from millstream.plan.checks.union_parts import united_schema
from millstream.plan.lineage import taking_back
from millstream.plan.names import (
    automatic_name,
    check_names,
    checked_name,
    kind_of,
    name_used_twice,
)
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Function,
    Node,
    Rejected,
    Select,
    Sink,
    Union,
    WithColumns,
    walk,
)
from millstream.plan.sql.expressions import Expression, named_scalars, scalar
from millstream.plan.targets import Files, Target
from millstream.plan.types.result_types import NUMBERS, base_type
from millstream.plan.types.schema import Field, Schema

REJECTED = Schema((Field("step", "STRING"), Field("reason", "STRING"), Field("record", "STRING")))


def filter(input: Node, given: Any, on_error: Any = "fail") -> Filter:
    """Keeps the rows for which the condition is true."""
    step = automatic_name("filter", input)
    with in_step(step):
        checked, choice = condition(given, input.schema), checked_on_error(on_error)
        return Filter(step, input.schema, input, checked, choice)


def select(
    input: Node, given: tuple[Any, ...], named: dict[str, Any], on_error: Any = "fail"
) -> Select:
    """Makes new rows of expressions."""
    step = automatic_name("select", input)
    with in_step(step):
        columns = named_columns("select", input, given, named)
        check_kind_is_kept(input, columns)
        return Select(step, Schema(_fields(columns)), input, columns, checked_on_error(on_error))


def sql(input: Node, given: Any, on_error: Any = "fail") -> Node:
    """The steps that a query over the rows is: a filter, then what it selects."""
    # sqlglot costs most of an import of millstream: only programs with expressions pay it.
    from millstream.plan.sql.queries import read_query

    if not isinstance(given, str):
        raise PlanError(
            "MS113",
            f"sql() takes a query, not {given!r}",
            fix="give text, such as 'SELECT user FROM stream WHERE points > 3'",
        )
    with in_step(automatic_name("select", input)):
        query = read_query(given)
    node = input if query.where is None else filter(input, query.where, on_error)
    if query.columns == ("*",):
        return node
    columns = [n for c in query.columns for n in (input.schema.names if c == "*" else (c,))]
    return select(node, tuple(columns), {}, on_error)


def drop(input: Node, given: tuple[Any, ...]) -> Select:
    """Makes new rows of all columns but those given."""
    step = automatic_name("select", input)
    with in_step(step):
        dropped = {input.schema.resolve(str(column)).name for column in given}
        kept = tuple(name for name in input.schema.names if name not in dropped)
        if not dropped or not kept:
            what = "names no columns" if not dropped else "would leave no columns"
            fix = "name at least one" if not dropped else "keep at least one"
            raise PlanError("MS113", f"drop({', '.join(map(repr, given))}) {what}", fix=fix)
    return select(input, kept, {})


def with_columns(input: Node, named: dict[str, Any], on_error: Any = "fail") -> WithColumns:
    """Adds or replaces columns."""
    step = automatic_name("with_columns", input)
    with in_step(step):
        columns = named_columns("with_columns", input, (), named)
        check_kind_is_kept(input, columns)
        schema = input.schema.with_fields(_fields(columns))
        return WithColumns(step, schema, input, columns, checked_on_error(on_error))


def function(
    input: Node,
    shape: Literal["map", "flat_map", "map_batches"],
    given: Any,
    schema: Any,
    on_error: Any,
) -> Function:
    """Runs a function of the user."""
    step = automatic_name(shape, input)
    with in_step(step):
        checked = checked_function(given, shape)
        if shape == "map_batches":
            check_batches(input)
        made = result_schema(checked, shape, schema)
        kind = None if taking_back(input) is None else made.find("kind")
        column = None if kind is None else kind.name
        return Function(step, made, input, shape, checked, checked_on_error(on_error), column)


def event_time(input: Node, column: Any, watermark: Any, unit: Any) -> EventTime:
    """Takes event times from a column."""
    step = automatic_name("event_time", input)
    with in_step(step):
        checked = checked_event_time(column, input.schema)
        policy = checked_watermark(watermark, input.schema)
        counted = checked_unit(unit, checked, input.schema.resolve(checked).type)
        node = EventTime(step, input.schema, input, checked, policy, counted)
        check_splits_are_followed(node)
    return node


def union(*parts: Node) -> Union:
    """Puts the rows of several steps together."""
    step = automatic_name("union", *parts)
    check_names(*parts)
    with in_step(step):
        schema = united_schema(parts)
        check_united(parts)
        return Union(step, schema, parts)


def rejected(input: Node) -> Rejected:
    """What all steps up to ``input`` rejected."""
    return Rejected(automatic_name("rejected", input), REJECTED, input)


def sink(input: Node, target: Target, name: str | None) -> Sink:
    """Ends a stream at a target that can take its rows."""
    step = automatic_name(target.kind, input) if name is None else checked_name(name)
    with in_step(step):
        check_sink(input)
        if isinstance(target, Files):
            check_writable(input.schema, target)
    return Sink(step, input.schema, input, target)


def named(node: Node, name: str) -> Node:
    """The same step under a name that no step behind it has."""
    for other in walk(*node.inputs):
        if other.name == name:
            raise name_used_twice(name, kind_of(other), kind_of(node))
    return replace(node, name=name)


def condition(given: Any, schema: Schema) -> Expression:
    """An expression that is true or false of a row."""
    found = scalar(given, schema)
    if found.type not in (None, "BOOLEAN"):
        test = "<> 0" if base_type(found.type) in NUMBERS else "IS NOT NULL"
        raise PlanError(
            "MS112",
            f"the condition {found.text!r} is {found.type}, not true or false",
            fix=f"write a comparison, such as {f'{found.text} {test}'!r}",
        )
    return found


def named_columns(
    method: str, input: Node, given: tuple[Any, ...], named: Mapping[str, Any]
) -> tuple[tuple[str, Expression], ...]:
    """The expressions that a method of a stream is given, each with its name."""
    columns = tuple(named_scalars(given, named, input.schema))
    if not columns:
        raise PlanError("MS113", f"{method}() has no columns", fix="name at least one")
    check_column_names(name for name, _ in columns)
    return columns


def _fields(columns: tuple[tuple[str, Expression], ...]) -> tuple[Field, ...]:
    return tuple(Field(name, expression.type) for name, expression in columns)
