"""MS105: the global window of an endless stream never ends: no trigger may wait for that."""

from __future__ import annotations

from millstream.model.arguments import as_code
from millstream.model.errors import PlanError
from millstream.plan.finishing import Moment, fires
from millstream.plan.lineage import is_bounded
from millstream.plan.operators.windowed import Windowed


def check_endless_global_window(node: Windowed) -> None:
    """The default trigger, ``at_watermark()`` and ``never()`` would give nothing, for ever."""
    windowing = node.windowing
    if windowing.where.ends or is_bounded(node):
        return
    if fires(windowing.when) == Moment.BEFORE_END:
        return
    trigger = as_code(windowing.trigger) if windowing.trigger else "the default trigger"
    raise PlanError(
        "MS105",
        f"the stream is endless, so its global window never ends, and {trigger} never fires",
        fix="write .trigger(ms.repeatedly(ms.after_count(100))) or .trigger(ms.repeatedly("
        "ms.after_delay('1m'))), or windows that end: .window(ms.fixed('1m'))",
    )
