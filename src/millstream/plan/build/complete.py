"""MS113: a sink keeps the whole result table only of rows that replace one another."""

from __future__ import annotations

from typing import Any, Literal, get_args

from millstream.model.arguments import one_of
from millstream.model.errors import PlanError
from millstream.model.refinements import accumulating, retracting
from millstream.plan.finishing import fires_once
from millstream.plan.lineage import kind_column
from millstream.plan.nodes import Node, Select, WithColumns
from millstream.plan.operators.grouping import Grouping
from millstream.plan.sql.expressions import Expression
from millstream.plan.targets import Table

OutputMode = Literal["append", "complete"]
"""What a sink gets: the rows that are new, or the whole result table each time it changes."""


def checked_table(input: Node, mode: Any, step: str | None) -> Table | None:
    """How the rows of a step make up a table; None where the sink is to get them as they come."""
    chosen: OutputMode = one_of(mode, "mode", get_args(OutputMode))
    if chosen == "append":
        return None
    node, between = input, []
    while isinstance(node, Select | WithColumns):
        between.append(node)
        node = node.input
    if not isinstance(node, Grouping):
        raise PlanError(
            "MS113",
            f"mode='complete' keeps the result of a grouping, but the rows are of {node.name!r}",
            fix="write .aggregate(…) right before it, with .select(…) or .with_columns(…) in "
            "between at most; put other steps before the grouping",
            step=step,
        )
    _check_panes_replace(node, step)
    by = [name for name, _ in node.keys]
    by += ["window"] if node.windowing.where.ends else []
    for name in by:
        lost = next((each for each in between if not _keeps(each, name)), None)
        if lost is not None:
            raise PlanError(
                "MS113",
                f"mode='complete' replaces rows by {', '.join(by)}, and {lost.name!r} does not "
                f"keep {name!r} as it is",
                fix=f"keep it: select(…, {name!r})",
                step=step,
            )
    return Table(tuple(by), kind_column(input))


def _check_panes_replace(node: Grouping, step: str | None) -> None:
    how = node.windowing
    if (how.where.ends and fires_once(how)) or how.refine is retracting:
        return
    grows = how.where.merging or how.where.ordered
    if how.refine is accumulating and not grows:
        return
    if how.refine is accumulating:
        what = f"windows of {how.where!r} grow, and each would be there beside its earlier bounds"
        fix = "write .refine(ms.retracting), which takes earlier results back"
    else:
        what = "each pane holds only what is new (discarding, the default), so none is the whole"
        fix = "write .refine(ms.accumulating) before aggregate(…)"
    needs = f"mode='complete' needs results of {node.name!r} that replace one another"
    raise PlanError("MS113", f"{needs}, but {what}", fix=fix, step=step)


def _keeps(step: Select | WithColumns, column: str) -> bool:
    made = {name.lower(): expression for name, expression in step.columns}
    expression = made.get(column.lower())
    if expression is None:
        return isinstance(step, WithColumns)
    return _is_column(expression, column)


def _is_column(expression: Expression, column: str) -> bool:
    return expression.column is None and expression.text.strip("`").lower() == column.lower()
