"""Keys and windowing in words: what a plan and the settings of a stream show of them."""

from __future__ import annotations

from millstream.model.durations import format_duration
from millstream.model.windowing import Windowing
from millstream.plan.build.functions import function_name
from millstream.plan.nodes import Keys
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.schema import quoted

_DEFAULTS = Windowing()


def where_text(windowing: Windowing) -> str:
    """The windows, and the options that are not the usual ones."""
    parts = [f"{windowing.where!r}{_by_default(windowing.window)}"]
    if windowing.allowed_lateness:
        parts.append(f"allowed lateness {format_duration(windowing.allowed_lateness)}")
    options = ("on_time", "closing", "timestamp")
    chosen = [o for o in options if getattr(windowing, o) != getattr(_DEFAULTS, o)]
    return ", ".join([*parts, *(f"{option} {getattr(windowing, option)}" for option in chosen)])


def when_text(windowing: Windowing) -> str:
    """The trigger."""
    if windowing.trigger is None and not windowing.where.by_watermark:
        return "at the end of the window by default"
    loss = ", data loss allowed" if windowing.allow_data_loss else ""
    return f"{windowing.when!r}{_by_default(windowing.trigger)}{loss}"


def _by_default(chosen: object) -> str:
    return " by default" if chosen is None else ""


def keys_text(keys: Keys) -> str:
    """The keys, each with what it is computed of."""
    return ", ".join(
        named_text(name, key)
        if isinstance(key, Expression)
        else f"{name} = {function_name(key.function)}(row)"
        for name, key in keys
    )


def named_text(name: str, expression: Expression) -> str:
    """An expression and the name of its column, once where they are the same."""
    alone = expression.text in (name, quoted(name))
    return expression.text if alone else f"{quoted(name)} = {expression.text}"
