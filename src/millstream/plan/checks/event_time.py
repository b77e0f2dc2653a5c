"""MS115: windows in event time need rows that have one, from a column that can be one."""

from __future__ import annotations

from typing import get_args

from millstream.model.arguments import as_code, one_of
from millstream.model.errors import PlanError
from millstream.model.time_units import TimeUnit
from millstream.model.watermarks import Punctuated, WatermarkPolicy
from millstream.plan.lineage import untimed
from millstream.plan.nodes import Node
from millstream.plan.operators.windowed import Windowed
from millstream.plan.types.result_types import NUMBERS, base_type
from millstream.plan.types.schema import Schema

_TIMES = ("TIMESTAMP", "TIMESTAMP_NTZ", "DATE", *NUMBERS)


def check_window_has_event_time(node: Windowed) -> None:
    """Rows that reach a windowed grouping have event times; the global window needs none."""
    if node.windowing.where.by_time:
        for input in node.inputs:
            check_has_event_time(input, f"{as_code(node.windowing.where)} is")


def check_has_event_time(input: Node, what: str) -> None:
    """Rows that reach what is in event time have one."""
    source = untimed(input)
    if source is not None:
        raise PlanError(
            "MS115",
            f"{what} in event time, but the rows of {source.name!r} have none",
            fix="say which column it is: with_event_time('at'), or event_time='at' at the source",
        )


def checked_event_time(column: str, schema: Schema) -> str:
    """The column of that name, if it holds times: timestamps, dates, or numbers."""
    field = schema.resolve(str(column))
    if field.type is None or base_type(field.type) in _TIMES:
        return field.name
    raise PlanError(
        "MS115",
        f"{field.name!r} is {field.type}, which is no time",
        fix=f"make one first: with_columns({field.name}='to_timestamp({field.name})')",
    )


def checked_unit(unit: object, column: str, type: str | None) -> TimeUnit:
    """What the numbers of a column count, by default seconds; timestamps and dates have no unit."""
    if unit is None:
        return "s"
    checked: TimeUnit = one_of(unit, "unit", get_args(TimeUnit))
    if type is not None and base_type(type) not in NUMBERS:
        raise PlanError(
            "MS113",
            f"unit={unit!r} is for numbers, but {column!r} is {type}",
            fix="leave unit out",
        )
    return checked


def checked_watermark(policy: object, schema: Schema) -> WatermarkPolicy | None:
    """A policy, or None; a punctuated one names a column that holds times."""
    if isinstance(policy, Punctuated):
        checked_event_time(policy.column, schema)
    if policy is None or isinstance(policy, WatermarkPolicy):
        return policy
    raise PlanError(
        "MS113",
        f"watermark={policy!r} is no watermark policy",
        fix="give one, such as ms.bounded('30s') or ms.ascending()",
    )
