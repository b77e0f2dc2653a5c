"""What there is to say about a step, in labelled lines: for the plan's text and its drawing."""

from __future__ import annotations

from millstream.model.durations import format_duration
from millstream.model.windowing import Windowing
from millstream.plan.expressions import Expression
from millstream.plan.functions import function_name
from millstream.plan.grouping import KIND, PANE, WINDOW, Keys
from millstream.plan.nodes import (
    EventTime,
    Filter,
    Function,
    Grouping,
    Node,
    RowsSource,
    Select,
    SideOutput,
    Source,
    WithColumns,
)
from millstream.plan.schema import quoted

Line = tuple[str, str]
_UNSAID = Windowing()


def details(node: Node) -> list[Line]:
    """The lines that say what the step does; a grouping answers the four questions."""
    match node:
        case RowsSource():
            return [("rows", f"{len(node.rows)} in the program")]
        case Source():
            return [("rows", "until they end" if node.bounded else "without end")]
        case EventTime():
            watermark = "" if node.watermark is None else f", watermark {node.watermark!r}"
            return [("from", f"{quoted(node.column)}{watermark}")]
        case Filter():
            return [("keeps", node.condition.text)]
        case Select() | WithColumns():
            label = "gives" if isinstance(node, Select) else "adds"
            return [(label, ", ".join(_named(n, e) for n, e in node.columns))]
        case Function():
            failing = {"fail": "fails", "reject": "is rejected", "drop": "is dropped"}
            name = function_name(node.function)
            return [("runs", f"{name}, a row that raises {failing[node.on_error]}")]
        case SideOutput(side="late"):
            return [("takes", f"what came too late for {node.input.name!r}")]
        case SideOutput():
            return [("takes", f"what {node.input.name!r} and the steps behind it rejected")]
        case Grouping():
            return _four_answers(node)
    return []


def aligned(lines: list[Line]) -> list[str]:
    """The lines as text, with what they say in one column.

    >>> aligned([("key", "team"), ("where", "fixed('2m')")])
    ['key    team', "where  fixed('2m')"]
    """
    width = max((len(label) for label, _ in lines), default=0)
    return [f"{label:{width}}  {text}" for label, text in lines]


def columns(node: Node) -> str:
    """The columns that the step puts out; those that every grouping adds need no types."""
    own = (WINDOW, PANE, KIND) if isinstance(node, Grouping) else ()
    return ", ".join(f.name if f in own else str(f) for f in node.schema)


def settings(keys: Keys, windowing: Windowing) -> list[Line]:
    """What has been said for the next grouping."""
    lines = [("key", _keys(keys))] if keys else []
    if windowing.window is not None:
        lines.append(("window", _where(windowing)))
    if windowing.trigger is not None:
        lines.append(("trigger", _when(windowing)))
    if windowing.refine is not _UNSAID.refine:
        lines.append(("refine", repr(windowing.refine)))
    return lines


def _four_answers(node: Grouping) -> list[Line]:
    what = ", ".join(f"{quoted(name)} = {aggregate!r}" for name, aggregate, _ in node.aggregates)
    return [
        ("key", _keys(node.keys) or "none: one group for everything"),
        ("what", what),
        ("where", _where(node.windowing)),
        ("when", _when(node.windowing)),
        ("how", repr(node.windowing.refine)),
    ]


def _where(windowing: Windowing) -> str:
    parts = [f"{windowing.where!r}{_by_default(windowing.window)}"]
    if windowing.allowed_lateness:
        parts.append(f"allowed lateness {format_duration(windowing.allowed_lateness)}")
    options = ("on_time", "closing", "timestamp")
    said = [o for o in options if getattr(windowing, o) != getattr(_UNSAID, o)]
    return ", ".join([*parts, *(f"{option} {getattr(windowing, option)}" for option in said)])


def _when(windowing: Windowing) -> str:
    loss = ", data loss allowed" if windowing.allow_data_loss else ""
    return f"{windowing.when!r}{_by_default(windowing.trigger)}{loss}"


def _by_default(chosen: object) -> str:
    return " by default" if chosen is None else ""


def _keys(keys: Keys) -> str:
    return ", ".join(
        _named(name, key) if isinstance(key, Expression) else f"{name} = {function_name(key)}(row)"
        for name, key in keys
    )


def _named(name: str, expression: Expression) -> str:
    alone = expression.text in (name, quoted(name))
    return expression.text if alone else f"{quoted(name)} = {expression.text}"
