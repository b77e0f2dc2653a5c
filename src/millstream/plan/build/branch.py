"""Builds the steps behind ``branch``: one that selects an output for each row, and the outputs."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import chain, count
from typing import Any

from millstream.model.errors import PlanError, in_step
from millstream.plan.branch import Branch, Outputs
from millstream.plan.build import steps
from millstream.plan.build.functions import checked_on_error
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Node, Select
from millstream.plan.sql.expressions import Expression, is_pyspark_column, scalar
from millstream.plan.types.schema import Field, Schema


def branch(input: Node, given: Mapping[str, Any], on_error: Any) -> dict[str, Select]:
    """The outputs by name, each with the rows that it takes, as they were before."""
    node = _branch(input, given, on_error)
    outputs = {}
    for name, _ in node.outputs:
        taken = steps.filter(node, f"{node.column} = '{name}'")
        outputs[name] = steps.select(taken, input.schema.names, {})
    return outputs


def _branch(input: Node, given: Mapping[str, Any], on_error: Any) -> Branch:
    """The step that selects an output for each row."""
    step = automatic_name("branch", input)
    with in_step(step):
        outputs = tuple(
            (_checked_name(name), _condition(name, condition, input.schema))
            for name, condition in given.items()
        )
        _check(outputs)
        column, which = _free_name(input.schema), scalar(_which(outputs), input.schema)
        schema = input.schema.with_fields((Field(column, which.type),))
        choice = checked_on_error(on_error)
        return Branch(step, schema, input, ((column, which),), choice, outputs=outputs)


def _free_name(schema: Schema) -> str:
    names = chain(("branch",), (f"branch_{number}" for number in count(2)))
    return next(name for name in names if schema.find(name) is None)


def _which(outputs: Outputs) -> str:
    """The name of the output, in SQL: a condition that is null is not true."""
    cases = [f"WHEN {c.text} THEN '{name}'" for name, c in outputs if c is not None]
    rest = [f"ELSE '{name}'" for name, c in outputs if c is None]
    return " ".join(["CASE", *cases, *rest, "END"])


def _condition(name: str, given: Any, schema: Schema) -> Expression | None:
    if given is True:
        return None
    if is_pyspark_column(given):
        raise PlanError(
            "MS112",
            f"the condition of {name!r} is a PySpark Column, and branch() combines its conditions "
            "as text",
            fix="write it as Spark SQL text, such as 'points > 3'",
        )
    return steps.condition(given, schema)


def _checked_name(name: str) -> str:
    if name.isidentifier() and not name.startswith("_"):
        return name
    raise PlanError(
        "MS113",
        f"{name!r} cannot be the name of an output: it is to be an attribute",
        fix="use letters, digits and underscores, and begin with a letter",
    )


def _check(outputs: Outputs) -> None:
    if not any(condition is not None for _, condition in outputs):
        raise PlanError(
            "MS113",
            "branch() has no condition",
            fix="name each output, with its condition: branch(big='points > 3', rest=True)",
        )
    for name, condition in outputs[:-1]:
        if condition is None:
            raise PlanError(
                "MS113",
                f"{name}=True takes all rows, and none are left for {outputs[-1][0]!r}",
                fix=f"put {name}=True last",
            )
