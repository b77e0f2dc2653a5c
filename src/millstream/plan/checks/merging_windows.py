"""MS107: a session ends with its grouping, so a grouping over sessions names its own window."""

from __future__ import annotations

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.plan.lineage import feeding
from millstream.plan.operators.windowed import Windowed


def check_merging_windows(node: Windowed) -> None:
    """A grouping over the results of sessions has a window of its own."""
    if node.windowing.window is not None:
        return
    for earlier in (each for input in node.inputs for each in feeding(input)):
        if isinstance(earlier, Windowed) and earlier.windowing.where.merging:
            window = as_code(earlier.windowing.where)
            raise PlanError(
                "MS107",
                f"this grouping over the sessions of {earlier.name!r} has no window of its own",
                fix=f"say where again: .window({window}), or .window(ms.global_window()) for all "
                "of time",
            )
