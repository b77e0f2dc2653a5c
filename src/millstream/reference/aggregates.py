"""What a pane's value is: every aggregate, computed anew from all of its elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from decimal import Decimal, localcontext
from typing import Any

from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate
from millstream.model.panes import Kind
from millstream.reference.elements import Element
from millstream.reference.functions import failure
from millstream.reference.ordering import ordering


@dataclass(frozen=True, slots=True)
class Column:
    """An aggregate of a grouping, and how its inputs are computed from an element's value."""

    aggregate: Aggregate
    of: Callable[[Any], Any]
    by: Callable[[Any], Any]


def summarise(columns: Sequence[Column], elements: Sequence[Element]) -> tuple[Any, ...]:
    """The values of a pane: every aggregate over all of its elements."""
    return tuple(_summary(column, elements) for column in columns)


def _summary(column: Column, elements: Sequence[Element]) -> Any:
    items = [Item(column.of(e.value), e.time, e.kind, column.by(e.value)) for e in elements]
    try:
        return evaluate(column.aggregate, items)
    except Exception as error:  # values that do not go together, or a user's combine
        on = f"the values {[item.value for item in items]!r}"
        fix = "mend it, or leave out the values that it cannot take: filter(…) before"
        raise failure(None, str(column.aggregate), on, error, fix) from error


@dataclass(frozen=True, slots=True)
class Item:
    """An aggregate's view of an element: its value, what ``top`` orders by, time and kind."""

    value: Any
    time: int
    kind: Kind = "+"
    by: Any = None


def evaluate(aggregate: Aggregate, items: Sequence[Item]) -> Any:
    """The aggregate over ``items``; nulls are skipped, and no result depends on their order.

    Retractions that took nothing back count negatively in sums and counts; other aggregates
    do not see them.

    >>> evaluate(described.sum(), [Item(5, 0), Item(9, 1), Item(None, 2)])
    14
    """
    known = [item for item in items if item.value is not None]
    if isinstance(aggregate, described.Count):
        return sum(1 if item.kind == "+" else -1 for item in known)
    if isinstance(aggregate, described.Sum):
        return _total([i.value if i.kind == "+" else -i.value for i in known])
    present = sorted(
        (item for item in known if item.kind == "+"),
        key=lambda item: (item.time, ordering(item.value)),
    )
    if isinstance(aggregate, described.Top):
        return _top(aggregate, present)
    return _over_values(aggregate, [item.value for item in present])


def _over_values(aggregate: Aggregate, values: list[Any]) -> Any:
    """Aggregates of the values alone, given in the order of event time."""
    match aggregate:
        case described.Collect():
            return values
        case described.CollectSet():
            return sorted(_distinct(values), key=ordering)
        case described.CountDistinct() | described.ApproxDistinct():
            return len(_distinct(values))
        case described.Combine():
            return _fold(aggregate, values)
    if not values:
        return None
    match aggregate:
        case described.Min() | described.AnyValue():
            return min(values, key=ordering)
        case described.Max():
            return max(values, key=ordering)
        case described.First():
            return values[0]
        case described.Last():
            return values[-1]
        case described.Mean():
            return float(_total(values)) / len(values)
        case described.Variance():
            return _variance(values)
        case described.Stddev():
            variance = _variance(values)
            return None if variance is None else math.sqrt(variance)
        case described.Quantile(q=q):
            return _quantile(values, q)
    raise AssertionError(aggregate)


def _total(values: list[Any]) -> Any:
    if any(isinstance(v, float) for v in values):
        return _exactly(math.fsum, values)  # correctly rounded, so the order does not matter
    if any(isinstance(v, Decimal) for v in values):
        with localcontext(prec=76):  # twice the digits of Spark's widest decimal
            return sum(values, Decimal(0))
    return sum(values)


def _exactly(total: Callable[[list[Any]], float], values: list[Any]) -> float:
    try:
        return total(values)
    except (OverflowError, ValueError):  # fsum refuses inf - inf and overflow; IEEE has answers
        return float(sum(values))


def _variance(values: list[Any]) -> float | None:
    if len(values) < 2:
        return None
    numbers = [float(v) for v in values]
    mean = _exactly(math.fsum, numbers) / len(numbers)
    return _exactly(math.fsum, [(n - mean) ** 2 for n in numbers]) / (len(numbers) - 1)


def _quantile(values: list[Any], q: float) -> float:
    numbers = sorted((float(v) for v in values), key=ordering)
    position = q * (len(numbers) - 1)
    below = math.floor(position)
    above = min(below + 1, len(numbers) - 1)
    if position == below or numbers[below] == numbers[above]:
        return numbers[below]  # also where the distance to the next one would be infinite
    return numbers[below] + (numbers[above] - numbers[below]) * (position - below)


def _distinct(values: list[Any]) -> list[Any]:
    return list({ordering(value): value for value in values}.values())


def _top(top: described.Top, items: list[Item]) -> list[Any]:
    ranked = sorted((i for i in items if i.by is not None), key=lambda i: ordering(i.value))
    ranked.sort(key=lambda i: ordering(i.by), reverse=True)  # stable: equal ones stay by value
    return [item.value for item in ranked[: top.n]]


def _fold(combine: described.Combine, values: list[Any]) -> Any:
    accumulator = combine.create()
    for value in values:
        accumulator = combine.add(accumulator, value)
    return combine.extract(accumulator)
