"""Builds the step that looks rows up in a table."""

from __future__ import annotations

from typing import Any, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError, in_step
from millstream.plan.build.join_sides import SUFFIX, join_keys, joined_columns
from millstream.plan.checks.retractions import check_takes_nothing_back
from millstream.plan.lookup import Lookup, LookupTable, Missing
from millstream.plan.names import automatic_name
from millstream.plan.nodes import Node
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import Schema, quoted


def lookup_keys(input: Node, on: Any, table: Schema | None = None) -> tuple[list[str], list[str]]:
    """The columns of the rows and of the table that must be equal; without ``table``, of the rows.

    >>> rows = Node("rows", Schema.of("id int, n int"))
    >>> lookup_keys(rows, ("id", "user_id"), Schema.of("user_id int, name string"))
    (['id'], ['user_id'])
    """
    other = Node("the table", input.schema if table is None else table)
    keys = join_keys(input, other, on)
    found = []
    for side, schema in zip(keys, (input.schema, other.schema), strict=True):
        names = {spelled: n for n in schema.names for spelled in (quoted(n), f"`{n}`")}
        texts = [key.text for _, key in side if isinstance(key, Expression)]
        for text in texts:
            if text not in names:
                raise PlanError(
                    "MS113",
                    f"lookup() takes columns as keys, and {text!r} is an expression",
                    fix=f"make it a column first: .with_columns(key={text!r})",
                )
        found.append([names[text] for text in texts])
    return found[0], found[1]


def lookup(
    input: Node, table: LookupTable, on: list[str], missing: Any, suffix: Any = SUFFIX
) -> Lookup:
    """The checked step; the table has the columns that are added."""
    step = automatic_name("lookup", input)
    with in_step(step):
        fate: Missing = one_of(missing, "missing", get_args(Missing))
        if table.changes:
            check_takes_nothing_back(input, "a lookup in a table that may change")
        columns = joined_columns(input, Node("the table", table.schema), ((), ()), suffix).right
        schema = Schema((*input.schema, *(field for _, field in columns)))
        return Lookup(
            step,
            schema,
            input,
            "lookup",
            table,  # type: ignore[arg-type] # what is sent to workers, as functions are
            "fail",
            table=table,
            on=tuple(on),
            columns=columns,
            missing=fate,
        )
