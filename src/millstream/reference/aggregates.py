"""What a pane's value is: every aggregate, computed anew from all of its elements."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from decimal import Decimal, localcontext
from functools import cache
from typing import Any

from millstream.model import aggregates as described
from millstream.model.aggregates import Aggregate
from millstream.model.errors import MillstreamError, RunError
from millstream.model.panes import Kind
from millstream.plan.records import shown
from millstream.plan.types.values import MisfitError, keeping, python_values
from millstream.reference.elements import Element
from millstream.reference.functions import cause_of, failure, listed
from millstream.reference.ordering import ordering

OF_NUMBERS = (
    described.Sum,
    described.Mean,
    described.Variance,
    described.Stddev,
    described.Quantile,
)
"""The aggregates that compute with values, and so take nothing but numbers."""

DECIMAL_REACH = 0.99e38
"""What summands of a DECIMAL may come to, in units of their last digit: a little less than its 38
digits, so that no sum of some of them leaves these, and rounding does no harm."""


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
    except MillstreamError:
        raise
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # values that do not go together
        on = f"the values {listed([item.value for item in items])}"
        raise _failed(column.aggregate, on, error) from cause_of(error)


def _failed(aggregate: Aggregate, on: str, error: BaseException) -> RunError:
    fix = "fix it, or leave out the values that it cannot take: filter(…) before"
    return failure(None, str(aggregate), on, error, fix)


@dataclass(frozen=True, slots=True)
class Item:
    """An aggregate's view of an element: its value, what ``top`` orders by, time and kind."""

    value: Any
    time: int
    kind: Kind = "+"
    by: Any = None


def evaluate(aggregate: Aggregate, items: Sequence[Item]) -> Any:
    """The aggregate over ``items``; nulls are skipped, and no result depends on their order.

    NaN is one value, greater than all other numbers, and -0.0 is 0.0, as in Spark. Retractions
    that took nothing back count negatively in sums and counts; other aggregates do not see them.

    >>> evaluate(described.sum(), [Item(5, 0), Item(9, 1), Item(None, 2)])
    14
    """
    known = [replace(i, value=_with_one_zero(i.value)) for i in items if i.value is not None]
    if isinstance(aggregate, OF_NUMBERS):
        _check_numbers([item.value for item in known])
    if isinstance(aggregate, described.Count):
        return sum(1 if item.kind == "+" else -1 for item in known)
    if isinstance(aggregate, described.Sum):
        return _sum(aggregate, [i.value if i.kind == "+" else -i.value for i in known])
    present = sorted(
        (item for item in known if item.kind == "+"),
        key=lambda item: (item.time, ordering(item.value)),
    )
    if isinstance(aggregate, described.Top):
        return _top(aggregate, present)
    return _over_values(aggregate, [item.value for item in present])


def _with_one_zero(value: Any) -> Any:
    """The value, in which -0.0 is 0.0, however deep in lists and structs it is."""
    match value:
        case float():
            return value + 0.0
        case list():
            return [_with_one_zero(each) for each in value]
        case dict():
            return {_with_one_zero(name): _with_one_zero(each) for name, each in value.items()}
    return value


def _check_numbers(values: list[Any]) -> None:
    for value in values:
        if not isinstance(value, int | float | Decimal):
            raise TypeError(f"{value!r} is no number")


def _sum(aggregate: Aggregate, values: list[Any]) -> Any:
    total = _total(values)
    if isinstance(total, int) and not -(2**63) <= total < 2**63:
        raise beyond(aggregate, "BIGINT")
    if isinstance(total, Decimal):
        digits = -min(0, *(_exponent(value) for value in values))
        if _total([abs(value) for value in values]).scaleb(digits) >= DECIMAL_REACH:
            raise beyond(aggregate, "DECIMAL")
    return total


def _exponent(number: Decimal | int) -> int:
    exponent = Decimal(number).as_tuple().exponent
    return exponent if isinstance(exponent, int) else 0


def beyond(aggregate: Aggregate, type: str) -> RunError:
    """The error for a sum that its type cannot hold; Spark in ANSI mode stops there, too."""
    wider = "DECIMAL(38, 0)" if type == "BIGINT" else "DOUBLE"
    return RunError(
        "MS201",
        f"{aggregate!r} is beyond what a {type} can hold",
        fix=f"sum a wider type: ms.sum({f'cast({aggregate.of} AS {wider})'!r})",
    )


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
            return fold(aggregate, values)
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
        return _float_total(values)
    if any(isinstance(v, Decimal) for v in values):
        with localcontext(prec=76):  # twice the digits of Spark's widest decimal
            return sum(values, Decimal(0))
    return sum(values)


def _float_total(values: list[Any]) -> float:
    numbers = [float(value) for value in values]
    try:
        return math.fsum(numbers)  # correctly rounded, so the order does not matter
    except (OverflowError, ValueError):  # fsum refuses inf - inf and overflow; IEEE has answers
        return sum(numbers)


def _variance(values: list[Any]) -> float | None:
    if len(values) < 2:
        return None
    numbers = [float(v) for v in values]
    mean = _float_total(numbers) / len(numbers)
    # Rounding must not move the mean of equal numbers, whose variance is zero.
    mean = min(max(mean, min(numbers)), max(numbers))
    # Not ** 2, which raises where the square is too large.
    return _float_total([(n - mean) * (n - mean) for n in numbers]) / (len(numbers) - 1)


def _quantile(values: list[Any], q: float) -> float:
    numbers = sorted((float(v) for v in values), key=ordering)
    position = q * (len(numbers) - 1)
    below = math.floor(position)
    above = min(below + 1, len(numbers) - 1)
    share = position - below
    if not share or numbers[below] == numbers[above]:
        return numbers[below]  # also where the other one is infinite
    return numbers[below] * (1 - share) + numbers[above] * share


def _distinct(values: list[Any]) -> list[Any]:
    return list({ordering(value): value for value in values}.values())


def _top(top: described.Top, items: list[Item]) -> list[Any]:
    ranked = sorted((i for i in items if i.by is not None), key=lambda i: ordering(i.value))
    ranked.sort(key=lambda i: ordering(i.by), reverse=True)  # stable: equal ones stay by value
    return [item.value for item in ranked[: top.n]]


def fold(combine: described.Combine, values: Sequence[Any]) -> Any:
    """What a user's accumulator makes of the values, held to the type that it promises."""
    at: Any = None  # nulls are skipped, so it is none of them
    try:
        accumulator = combine.create()
        for at in values:
            accumulator = combine.add(accumulator, at)
        at = None
        result = combine.extract(accumulator)
    except KeyboardInterrupt:
        raise
    except BaseException as error:  # whatever a user's function raises
        on = f"the values {listed(values)}" if at is None else f"the value {shown(at)}"
        raise _failed(combine, on, error) from cause_of(error)
    try:
        return keeping(promised_type(combine.returns))(result)
    except MisfitError as error:
        raise misfit(combine, shown(result), f"{error}") from None


@cache
def promised_type(returns: str) -> str:
    """The Spark type that a user's accumulator declares, in canonical form."""
    from millstream.plan.types.schema_reading import python_type

    return python_type(returns)


def misfit(combine: described.Combine, given: str, why: str = "") -> RunError:
    """The error for a result that is not of the promised type."""
    type = promised_type(combine.returns)
    return RunError(
        "MS202",
        f"the result of {combine!r} is {given}, which does not fit {type}{why and f': {why}'}",
        fix=f"let extract give {python_values(type)}, or None, or promise another type: returns=…",
    )
