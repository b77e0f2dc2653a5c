"""MS110: what takes retractions must be able to undo what it has already given out."""

from __future__ import annotations

from millstream.model.errors import PlanError
from millstream.model.refinements import discarding, retracting
from millstream.plan.lineage import feeding
from millstream.plan.nodes import Filter, Grouping, Node, OneInput


def check_retractions(node: Grouping) -> None:
    """A discarding grouping forgets its panes: only what adds up (count, sum) can take back."""
    _check_nothing_reads_kind(node.input)
    if node.windowing.refine is not discarding:
        return
    stuck = [f"{name} = {a!r}" for name, a, _ in node.aggregates if not a.additive]
    source = taking_back(node.input)
    if stuck and source is not None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, but {stuck[0]} is discarding (the default) and "
            "has forgotten what it would have to undo",
            fix="write .refine(ms.accumulating) or .refine(ms.retracting) before aggregate(…)",
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


def check_sink(input: Node) -> None:
    """Without ``kind``, rows that are taken back would look like results."""
    source = taking_back(input)
    if source is not None and input.schema.find("kind") is None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, but the rows have lost the column kind, "
            "which tells what is taken back",
            fix="keep it: select(…, 'kind')",
        )


def taking_back(node: Node) -> Grouping | None:
    """A retracting grouping whose panes reach this step, if there is one."""
    return next((g for g in feeding(node) if g.windowing.refine is retracting), None)


def _check_nothing_reads_kind(node: Node) -> None:
    """A step that treats a row and its retraction differently breaks the grouping after it."""
    source = taking_back(node)
    while source is not None and isinstance(node, OneInput) and not isinstance(node, Grouping):
        if isinstance(node, Filter) and "kind" in node.condition.columns:
            raise PlanError(
                "MS110",
                f"{node.name!r} looks at kind, and so keeps a row but not its retraction, "
                f"which {source.name!r} gives out",
                fix="leave kind to the grouping, which takes back what it must",
            )
        node = node.input
