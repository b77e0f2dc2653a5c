"""MS110: what takes retractions must be able to undo what it has already given out."""

from __future__ import annotations

from millstream.model.errors import PlanError
from millstream.model.refinements import discarding, retracting
from millstream.plan.lineage import feeding
from millstream.plan.nodes import Grouping


def check_retractions(node: Grouping) -> None:
    """A discarding grouping forgets its panes: only what adds up (count, sum) can take back."""
    if node.windowing.refine is not discarding:
        return
    stuck = [f"{name} = {a!r}" for name, a, _ in node.aggregates if not a.additive]
    source = next((g for g in feeding(node.input) if g.windowing.refine is retracting), None)
    if stuck and source is not None:
        raise PlanError(
            "MS110",
            f"{source.name!r} takes results back, but {stuck[0]} is discarding (the default) and "
            "has forgotten what it would have to undo",
            fix="write .refine(ms.accumulating) or .refine(ms.retracting) before aggregate(…)",
        )
