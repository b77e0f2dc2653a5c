"""MS110: what takes retractions must be able to undo what it has already emitted."""

from __future__ import annotations

from millstream.model.aggregates import ApproxDistinct, ApproxQuantile
from millstream.model.errors import PlanError
from millstream.model.refinements import discarding
from millstream.plan.lineage import kind_column, taking_back, up_to_operators
from millstream.plan.nodes import EventTime, Filter, Node, Select, Union, WithColumns
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.windowed import Windowed
from millstream.plan.sql.expressions import Expression


def check_retractions(node: Windowed) -> None:
    """A discarding grouping forgets its panes: only what adds up (count, sum) can take back."""
    for input in node.inputs:
        check_nothing_reads_kind(input)
    stuck, method = ["it"], f"{node.kind}(…)"
    if isinstance(node, Grouping):
        _check_sketches(node)
        stuck = [f"{name} = {a!r}" for name, a, _ in node.aggregates if not a.additive]
    source = next(filter(None, map(taking_back, node.inputs)), None)
    if node.windowing.refine is discarding and stuck and source is not None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, but {stuck[0]} is discarding (the default) and "
            "has forgotten what it would have to undo",
            fix=f"write .refine(ms.accumulating) or .refine(ms.retracting) before {method}",
        )


def _check_sketches(node: Grouping) -> None:
    """A sketch does not have the values that it was made of, so it cannot be without one again."""
    source = taking_back(node.input)
    for name, aggregate, _ in node.aggregates:
        if source is not None and isinstance(aggregate, ApproxDistinct | ApproxQuantile):
            exact = "count_distinct" if isinstance(aggregate, ApproxDistinct) else "quantile"
            raise PlanError(
                "MS110",
                f"{source.name!r} takes results back, but {name} = {aggregate!r} is a sketch, "
                "which cannot remove a value",
                fix=f"write ms.{exact}(…), which keeps the values",
            )


def check_batches(input: Node) -> None:
    """A batch of retractions is not the batch that they take back, so its result would not be."""
    source = taking_back(input)
    if source is not None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back one by one, but map_batches(…) sees some together",
            fix="use map(…) or flat_map(…), which treat a row and its retraction alike",
        )


def check_takes_nothing_back(input: Node, method: str, instead: str = "") -> None:
    """A step that compares rows as they come cannot undo what it made of one."""
    source = taking_back(input)
    if source is not None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, which {method} cannot undo",
            fix="write .refine(ms.accumulating) or .refine(ms.discarding) in that grouping"
            + (instead and f", or {instead}"),
        )


def check_sink(input: Node) -> None:
    """Without ``kind``, rows that are taken back would look like results."""
    source = taking_back(input)
    if source is not None and kind_column(input) is None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, but the rows have lost the column kind, "
            "which marks what is taken back",
            fix="keep it: select(…, 'kind')",
        )


def check_kind_is_kept(input: Node, columns: tuple[tuple[str, Expression], ...]) -> None:
    """No other column takes the name ``kind`` where that marks which rows are taken back."""
    source = taking_back(input)
    if source is None:
        return
    for name, expression in columns:
        if name.lower() == "kind" and not _is_kind(expression):
            raise PlanError(
                "MS110",
                f"{source.name!r} takes results back, and the column kind marks which: it would "
                f"be replaced by {expression.text!r}",
                fix="give yours another name, such as kind_2=…",
            )


def check_united(parts: tuple[Node, ...]) -> None:
    """Beside rows that may be taken back, a ``kind`` marks others as rows that are not: ``'+'``."""
    source = next(filter(None, map(taking_back, parts)), None)
    for part in parts:
        if source is not None and taking_back(part) is None and not _is_plus(part):
            raise PlanError(
                "MS110",
                f"{source.name!r} takes results back, and the column kind marks which, but "
                f"{part.name!r} has a column kind of its own",
                fix="rename it there: .with_columns(kind_2='kind', kind=\"'+'\"), where every row "
                "is one that counts",
            )


def _is_plus(part: Node) -> bool:
    """Whether the rows have no column ``kind``, or one that is always ``'+'``."""
    if part.schema.find("kind") is None:
        return True
    if isinstance(part, Union):
        return all(map(_is_plus, part.parts))
    if isinstance(part, Select | WithColumns):
        made = [each for name, each in part.columns if name.lower() == "kind"]
        if made and not _is_kind(made[0]):
            return made[0].text == "'+'"
    return isinstance(part, Select | WithColumns | Filter | EventTime) and _is_plus(part.input)


def check_nothing_reads_kind(node: Node) -> None:
    """A step that treats a row and its retraction differently breaks the grouping after it."""
    for step in up_to_operators(node):
        if not isinstance(step, Filter | Select | WithColumns):
            continue
        source = taking_back(step.input)
        if source is not None and _reads_kind(step):
            keeps = "keeps a row but not its retraction"
            makes = "makes different rows of a row and its retraction"
            raise PlanError(
                "MS110",
                f"{step.name!r} reads kind, and so "
                f"{keeps if isinstance(step, Filter) else makes}, which {source.name!r} emits",
                fix="leave kind to the grouping, which takes back what it must",
            )


def _reads_kind(step: Filter | Select | WithColumns) -> bool:
    if isinstance(step, Filter):
        return "kind" in step.condition.columns
    return any(
        "kind" in each.columns and not (name.lower() == "kind" and _is_kind(each))
        for name, each in step.columns
    )


def _is_kind(expression: Expression) -> bool:
    return expression.column is None and expression.text.strip("`").lower() == "kind"
