"""MS103: an aggregate takes only values of types that it has a meaning for."""

from __future__ import annotations

import re

from millstream.model.aggregates import (
    Aggregate,
    ApproxDistinct,
    CollectSet,
    CountDistinct,
    Max,
    Mean,
    Min,
    Quantile,
    Stddev,
    Sum,
    Top,
    Variance,
)
from millstream.model.errors import PlanError
from millstream.plan.operators.grouping import Grouping
from millstream.plan.operators.windowed import Windowed
from millstream.plan.sql.expressions import Expression
from millstream.plan.types.result_types import NUMBERS, base_type

_OF_NUMBERS = (Sum, Mean, Variance, Stddev, Quantile)
_OF_COMPARABLE = (Min, Max, CountDistinct, ApproxDistinct, CollectSet)
_INCOMPARABLE = re.compile(r"\bMAP<|\bVARIANT\b(?!:)")  # inside of other types, too


def check_aggregate_types(node: Windowed) -> None:
    """Numbers for sum, mean and their like; values with an order or equality for the others.

    What has no known type passes here, and is judged by Spark when the plan is lowered.
    """
    for name, aggregate, inputs in node.aggregates if isinstance(node, Grouping) else ():
        if isinstance(aggregate, _OF_NUMBERS):
            _check_number(name, aggregate, inputs.of)
        if isinstance(aggregate, _OF_COMPARABLE):
            _check_comparable(name, aggregate, inputs.of)
        if isinstance(aggregate, Top):
            _check_comparable(name, aggregate, inputs.by)


def _check_number(name: str, aggregate: Aggregate, of: Expression | None) -> None:
    if of is None or of.type is None or base_type(of.type) in NUMBERS:
        return
    raise PlanError(
        "MS103",
        f"{name} = {aggregate!r}: {of.text!r} is {of.type}, but {aggregate.name} takes numbers",
        fix=f"give it a number, such as ms.{aggregate.name}({f'cast({of.text} AS DOUBLE)'!r}), "
        f"or count the values: ms.count({of.text!r})",
    )


def _check_comparable(name: str, aggregate: Aggregate, of: Expression | None) -> None:
    if of is None or of.type is None or not _INCOMPARABLE.search(of.type):
        return
    raise PlanError(
        "MS103",
        f"{name} = {aggregate!r}: {of.text!r} is {of.type}, which has no order or equality",
        fix=f"give it a comparable value, such as {f'to_json({of.text})'!r}",
    )
